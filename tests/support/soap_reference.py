"""Steps of SOAP by pytorch_optimizer, which follows the authors' program: the expected numbers.

Run `python tests/support/soap_reference.py > tests/producers/training/soap_reference.json` with a
Python that has torch 2.13.0 and pytorch_optimizer 4.1.0; no test does.
"""

from __future__ import annotations

import json
import sys

import torch
from pytorch_optimizer import SOAP

METAPARAMETERS = {
    "learning_rate": 0.03,
    "beta1": 0.9,
    "beta2": 0.95,
    "epsilon": 1e-12,
    "weight_decay": 0.0,
}
STEPS = 23


def main() -> None:
    """Prints the start and the weights after each step."""
    generator = torch.Generator().manual_seed(0)
    # The first gradient must fill every axis, or its basis is any of many.
    shapes = {"kernel": (4, 4), "filter": (2, 3, 4), "bias": (4,)}
    weights = {
        name: torch.randn(shape, generator=generator).requires_grad_()
        for name, shape in shapes.items()
    }
    start = as_lists(weights)
    soap = SOAP(
        weights.values(),
        lr=METAPARAMETERS["learning_rate"],
        betas=(METAPARAMETERS["beta1"], METAPARAMETERS["beta2"]),
        eps=METAPARAMETERS["epsilon"],
        weight_decay=0.0,
    )
    steps = []
    for step in range(STEPS):
        for array in weights.values():
            array.grad = torch.sin(3 * array.detach()) + 0.1 * array.detach().flip(0)
        for state in soap.state.values():
            state["precondition_frequency"] = 1 if step < 10 else 10
        soap.step()
        if step == 0:
            start_bases(soap)
        steps.append(as_lists(weights))
    reference = {"metaparameters": METAPARAMETERS, "start": start, "steps": steps}
    sys.stdout.write(json.dumps(reference) + "\n")


def start_bases(soap: SOAP) -> None:
    """Sets the first bases as this project does: one turn from the identity."""
    for state in soap.state.values():
        for axis, gram in enumerate(state["GG"]):
            if len(gram):
                order = torch.argsort(gram.diagonal(), descending=True)
                state["Q"][axis] = torch.linalg.qr(gram[:, order])[0]


def as_lists(weights: dict[str, torch.Tensor]) -> dict[str, object]:
    """Copies that JSON can hold."""
    return {
        name: array.detach().double().numpy().round(6).tolist() for name, array in weights.items()
    }


if __name__ == "__main__":
    main()
