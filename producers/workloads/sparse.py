"""The sparsity study (Lee et al., 2021): networks pruned before training, and dense ones beside.

The networks are pruned once by SNIP, goals count as reached at their value, and errors are checked
every 100 steps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from producers.search import Range
from producers.workloads.definition import SPARSITY_STUDY, EvaluationRule, StepBudget, Workload
from producers.workloads.images import cifar_10_workload
from producers.workloads.mnist import ALL, mnist_workload
from producers.workloads.protocol import LINEAR_DECAY_CERTAINTY, powers

if TYPE_CHECKING:
    from producers.workloads.protocol import SearchSpace

_OPTIMIZERS = ("sgd", "momentum", "nesterov_momentum")
_SPARSITIES = (0.0, 0.5, 0.7, 0.9)
_BATCH_SIZES = powers(2, 16_384)
_LEARNING_RATE = Range(1e-4, 1.0, "LOG_SCALE")
_EVALUATION = EvaluationRule(other_splits_every=10, every=100)

_CERTAINTY = {
    "batch_sizes": "chosen",
    "budget": "recalled",
    "evaluation": "chosen",
    "evaluation: every": "recalled",
    "form": "recalled",
    "goal": "recalled",
    "goal_inclusive": "recalled",
    "pruning": "recalled",
    "schedule": "recalled",
    "search_space": "recalled",
    "sparsity": "recalled",
    "train_examples": "recalled",
}


def _dense(workload: Workload, goal: float, train_steps: int, goal_certainty: str) -> Workload:
    """A workload of the other paper in the protocol of this one."""
    certainty = _CERTAINTY | {"goal": goal_certainty}
    if workload.schedule == "linear_decay":
        certainty |= LINEAR_DECAY_CERTAINTY | {"schedule": "recalled"}
    space: SearchSpace = tuple(
        (name, _LEARNING_RATE if name == "learning_rate" else each)
        for name, each in workload.search_space
    )
    return replace(
        workload,
        collection="sparsity_0",
        search_space=space,
        goal=goal,
        goal_inclusive=True,
        batch_sizes=_BATCH_SIZES,
        budget=StepBudget(fewest=train_steps, examples=0),
        evaluation=_EVALUATION,
        certainty=tuple(certainty.items()),
        paper=SPARSITY_STUDY,
    )


def _mnist(dataset: str, optimizer: str, goal: float, goal_certainty: str) -> Workload:
    workload = mnist_workload("simple_cnn_base", optimizer, goal, ALL, dataset=dataset)
    return _dense(workload, goal, 40_000, goal_certainty)


def pruned(workload: Workload, sparsity: float) -> Workload:
    """A workload whose network is pruned once by SNIP before training.

    Args:
        workload: the same with the dense network.
        sparsity: the share of weights that is removed.
    """
    return replace(
        workload, collection=f"sparsity_{sparsity:.0%}"[:-1], sparsity=sparsity, pruning="snip"
    )


_DENSE = tuple(
    workload
    for optimizer in _OPTIMIZERS
    for workload in (
        _mnist("mnist", optimizer, 0.02, "recalled"),
        _mnist("fashion_mnist", optimizer, 0.12, "chosen"),
        _dense(cifar_10_workload(optimizer), 0.4, 100_000, "recalled"),
    )
)

SPARSE_WORKLOADS = (
    *_DENSE,
    *(pruned(workload, sparsity) for sparsity in _SPARSITIES[1:] for workload in _DENSE),
)
