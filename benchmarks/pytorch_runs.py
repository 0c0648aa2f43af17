"""Trains simple_cnn_base in PyTorch, one run after the other, as told on standard input.

`benchmarks/sweep_against_pytorch.py` starts it with a Python that has torch and NumPy; it imports
nothing of this project. Each line of input is the JSON of a request: `runs`, `steps`, `batch_size`.
Each line of output is the JSON of the seconds that it took: `clock`, and `processor` of all cores.
Examples are made up. Each run starts from new weights, takes random batches of its own, reads the
loss of every step, and evaluates 1,000 examples at its end.
"""

from __future__ import annotations

import json
import sys
import time

import torch

EXAMPLES = 8_192
HELD_OUT = 1_000
EVALUATED_TOGETHER = 500
LEARNING_RATE = 1e-3
MOMENTUM = 0.9


def main() -> None:
    """Answers one request after the other."""
    images = torch.randint(0, 256, (EXAMPLES, 1, 28, 28), dtype=torch.uint8)
    labels = torch.randint(0, 10, (EXAMPLES,))
    print(json.dumps({"torch": torch.__version__, "threads": torch.get_num_threads()}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        started, spent = time.perf_counter(), time.process_time()
        for _ in range(request["runs"]):
            train(images, labels, request["steps"], request["batch_size"])
        clock, processor = time.perf_counter() - started, time.process_time() - spent
        print(json.dumps({"clock": clock, "processor": processor}), flush=True)


def new_model() -> torch.nn.Module:
    """The network of producers/models/feed_forward.py."""
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 32, 5, padding=2),
        torch.nn.MaxPool2d(2),
        torch.nn.ReLU(),
        torch.nn.Conv2d(32, 64, 5, padding=2),
        torch.nn.MaxPool2d(2),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(7 * 7 * 64, 1024),
        torch.nn.ReLU(),
        torch.nn.Linear(1024, 10),
    )


def train(images: torch.Tensor, labels: torch.Tensor, steps: int, batch_size: int) -> list[float]:
    """Trains from new weights and evaluates; the loss of each step, then that of evaluation."""
    model = new_model()
    optimizer = torch.optim.SGD(model.parameters(), LEARNING_RATE, MOMENTUM, nesterov=True)
    losses = []
    for _ in range(steps):
        batch = torch.randint(0, EXAMPLES, (batch_size,))
        loss = torch.nn.functional.cross_entropy(model(images[batch] / 255), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        parts = range(0, HELD_OUT, EVALUATED_TOGETHER)
        logits = torch.cat(
            [model(images[start : start + EVALUATED_TOGETHER] / 255) for start in parts]
        )
        losses.append(torch.nn.functional.cross_entropy(logits, labels[:HELD_OUT]).item())
    return losses


if __name__ == "__main__":
    main()
