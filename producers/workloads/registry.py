"""Every workload that can be trained. Adding one is adding an entry here."""

from __future__ import annotations

import fnmatch
from dataclasses import replace

from dbtool.errors import unknown
from producers.search import Range
from producers.workloads.definition import EvaluationRule, StepBudget, Workload

_POWERS = tuple(2**k for k in range(16))
_ALL = (*_POWERS, 55_000)
_EVERY_OTHER = (1, 2, 8, 32, 128, 512, 2_048, 8_192, 32_768, 55_000)

_LEARNING_RATE = ("learning_rate", Range(1e-4, 10.0, "LOG_SCALE"))
_MOMENTUM = ("momentum", Range(0.9, 0.9999, "REVERSE_LOG_SCALE"))

# The published studies' own budgets are not known: these are from 1.2 to 2.5 times the steps that
# the best trial needs at each batch size, and the narrowest network needs the most.
_FULLY_CONNECTED_BUDGET = StepBudget(fewest=1_000, examples=150_000)
_NARROW_BUDGET = StepBudget(fewest=1_200, examples=250_000)
_CONVOLUTIONAL_BUDGET = StepBudget(fewest=500, examples=300_000)

# Chosen so that evaluation takes about a tenth of the time of a fully connected network
# (benchmarks/training.py measures it), and about a third of a convolutional one's.
_FULLY_CONNECTED_EVALUATION = EvaluationRule(8, other_splits_every=16, examples_between=15_000)
_NARROW_EVALUATION = EvaluationRule(8, other_splits_every=16, examples_between=25_000)
_CNN_EVALUATION = EvaluationRule(4, other_splits_every=4, examples_between=4_000)

_MNIST_CERTAINTY = (
    ("batch_sizes", "stated"),
    ("budget", "chosen"),
    ("evaluation", "chosen"),
    ("goal", "stated"),
    ("pixels scaled to [0, 1]", "chosen"),
    ("schedule", "recalled"),
    ("search_space", "stated"),
    ("train_examples", "recalled"),
)


def _rules(model: str) -> tuple[StepBudget, EvaluationRule]:
    """How long trials of a model train, and when they are evaluated."""
    if model == "fc_64_64_64":
        return _NARROW_BUDGET, _NARROW_EVALUATION
    if model.startswith("fc_"):
        return _FULLY_CONNECTED_BUDGET, _FULLY_CONNECTED_EVALUATION
    return _CONVOLUTIONAL_BUDGET, _CNN_EVALUATION


def _image_workload(
    model: str, optimizer: str, goal: float, batch_sizes: tuple[int, ...]
) -> Workload:
    """A workload on MNIST in the paper's protocol."""
    momentum = () if optimizer == "sgd" else (_MOMENTUM,)
    budget, evaluation = _rules(model)
    return Workload(
        collection=None,
        dataset="mnist",
        source="mnist",
        model=model,
        optimizer=optimizer,
        schedule="constant",
        search_space=(_LEARNING_RATE, *momentum),
        metric="val_classification_error",
        goal=goal,
        maximize=False,
        train_examples=55_000,
        batch_sizes=batch_sizes,
        budget=budget,
        evaluation=evaluation,
        certainty=_MNIST_CERTAINTY,
    )


def _subset(examples: int) -> Workload:
    """Simple CNN on the first examples of MNIST."""
    powers = tuple(size for size in _POWERS if size < examples)
    return replace(
        _image_workload("simple_cnn_base", "nesterov_momentum", 0.02, (*powers, examples)),
        collection="mnist_subsets",
        dataset=f"mnist_{examples}",
        train_examples=examples,
    )


_CNN_NESTEROV = _image_workload("simple_cnn_base", "nesterov_momentum", 0.01, _EVERY_OTHER)
_FASHION = replace(_CNN_NESTEROV, dataset="fashion_mnist", source="fashion_mnist", goal=0.1)

_WORKLOADS = (
    *(
        _image_workload(model, "sgd", 0.03, _ALL)
        for model in (
            "fc_1024",
            "fc_1024_1024",
            "fc_64_64_64",
            "fc_128_128_128",
            "fc_256_256_256",
            "fc_512_512_512",
            "fc_1024_1024_1024",
            "fc_2048_2048_2048",
        )
    ),
    _image_workload("simple_cnn_narrow", "sgd", 0.01, _ALL),
    _image_workload("simple_cnn_base", "sgd", 0.01, _ALL),
    _image_workload("simple_cnn_wide", "sgd", 0.01, _POWERS),
    _image_workload("simple_cnn_base", "momentum", 0.01, _ALL),
    _CNN_NESTEROV,
    replace(_FASHION, batch_sizes=_EVERY_OTHER[1:]),
    *(_subset(examples) for examples in (6_875, 13_750, 27_500, 55_000)),
    replace(_CNN_NESTEROV, collection="solution_quality"),
    replace(_FASHION, collection="solution_quality"),
)

WORKLOADS = {workload.name: workload for workload in _WORKLOADS}


def find_workloads(patterns: list[str]) -> list[Workload]:
    """The workloads that the given names or patterns (`mnist/fc_*`) stand for, in their order.

    Raises:
        UsageError: when one stands for none.
    """
    found: dict[str, Workload] = {}
    for pattern in patterns:
        names = [name for name in WORKLOADS if fnmatch.fnmatchcase(name, pattern)]
        if not names:
            raise unknown("workload", pattern, WORKLOADS, "dbtool produce --list")
        found.update((name, WORKLOADS[name]) for name in names)
    return list(found.values())
