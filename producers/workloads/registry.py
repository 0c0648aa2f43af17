"""Every workload that can be trained, by name, and those beyond the papers.

Adding one is adding an entry here or to the module of its kind.
"""

from dataclasses import replace
from functools import partial

from dbtool.core.errors import matching, unknown
from producers.datasets.forms import BROWN
from producers.training.optimizers import OPTIMIZERS
from producers.workloads.definition import (
    EvaluationRule,
    StepBudget,
    Workload,
    powers,
    search_space,
)
from producers.workloads.published import (
    ALL,
    IMAGE_WORKLOADS,
    MNIST_CERTAINTY,
    MNIST_WORKLOADS,
    TEXT_WORKLOADS,
    mnist_workload,
)
from producers.workloads.sparse import SPARSE_WORKLOADS, pruned

_CHOSEN = MNIST_CERTAINTY | dict.fromkeys(
    ("batch_sizes", "goal", "schedule", "search_space"), "chosen"
)

_ALL_CHOSEN = (
    *("batch_sizes", "budget", "evaluation", "form"),
    *("goal", "schedule", "search_space", "train_examples"),
)


def _fully_connected(optimizer: str, dataset: str = "mnist", goal: float = 0.03) -> Workload:
    dense = mnist_workload("fc_128_128_128", optimizer, goal, ALL, _CHOSEN, dataset)
    return replace(dense, paper=None)


def _pruned(sparsity: float) -> Workload:
    certainty = _CHOSEN | {"pruning": "chosen", "sparsity": "chosen"}
    dense = replace(_fully_connected("sgd"), certainty=tuple(certainty.items()))
    return pruned(dense, sparsity, "snip")


def _brown(optimizer: str) -> Workload:
    return Workload(
        collection=None,
        dataset="brown",
        source="brown",
        model="transformer_tiny",
        optimizer=optimizer,
        schedule="constant",
        search_space=search_space(optimizer),
        metric="val_cross_entropy_error",
        goal=5.3,
        maximize=False,
        train_examples=53_340,
        batch_sizes=powers(8, 4_096),
        budget=StepBudget(fewest=2_000, examples=400_000),
        evaluation=EvaluationRule(8, other_splits_every=8, examples_between=10_000),
        certainty=tuple(dict.fromkeys(_ALL_CHOSEN, "chosen").items()),
        form=BROWN,
        paper=None,
    )


EXTRA_WORKLOADS = (
    *(_fully_connected(optimizer) for optimizer in OPTIMIZERS if optimizer != "sgd"),
    _fully_connected("sgd", "fashion_mnist", 0.14),
    *(_pruned(sparsity) for sparsity in (0.5, 0.7, 0.9)),
    *(
        _brown(optimizer)
        for optimizer in ("sgd", "nesterov_momentum", "adam", "adamw", "muon_hidden", "soap")
    ),
)


_ALL = (*MNIST_WORKLOADS, *IMAGE_WORKLOADS, *TEXT_WORKLOADS, *SPARSE_WORKLOADS, *EXTRA_WORKLOADS)

WORKLOADS = {workload.name: workload for workload in _ALL}


def find_workloads(patterns: list[str]) -> list[Workload]:
    """Return the workloads that names or patterns, such as `mnist/fc_*`, stand for."""
    absent = partial(unknown, "workload", choices=WORKLOADS, listing="dbtool produce --list")
    return [WORKLOADS[name] for name in matching(patterns, WORKLOADS, absent)]
