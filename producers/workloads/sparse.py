"""The sparsity study (Lee et al., 2021): networks pruned before training, and dense ones beside.

Settings are stated where the authors' program has them, the public repository effect-dps-public.
The networks are pruned once by SNIP, goals count as reached at their value, and errors are checked
every 100 steps. Two things differ from that program, beside its random numbers: its search runs
through momenta from the highest to the lowest, and its sequence has other direction numbers from
the third dimension on.
"""

from dataclasses import replace

from producers.datasets.forms import CIFAR_10_BY_CHANNEL
from producers.datasets.split import HeldOut
from producers.models.registry import model_definition
from producers.search import Range, Sobol, StepsRange
from producers.workloads.definition import (
    SPARSITY_STUDY,
    EvaluationRule,
    Pruning,
    SearchSpace,
    StepBudget,
    Workload,
    powers,
)
from producers.workloads.published import ALL, cifar_10_workload, mnist_workload

_OPTIMIZERS = ("sgd", "momentum", "nesterov_momentum")
_BATCH_SIZES = powers(2, 16_384)
# What it searches otherwise than the batch size study.
_SEARCHED: dict[str, Range | StepsRange] = {
    "learning_rate": Range(1e-4, 1.0, "LOG_SCALE"),
    "learning_rate_decay_steps": StepsRange(0.3, 0.6),
}
_EVALUATION = EvaluationRule(other_splits_every=10, every=100)
# Its generator should skip two points and counts them from minus one.
_SOBOL = Sobol(scramble=False, skip=1)

_CERTAINTY = {
    "augmentation": "stated",
    "batch_sizes": "chosen",
    "dtype": "stated",
    "evaluation": "chosen",
    "evaluation: every": "stated",
    "form": "stated",
    "goal_inclusive": "stated",
    "held_out: examples": "stated",
    "held_out: order": "stated",
    "pruning": "stated",
    "search_space": "stated",
    "sobol": "stated",
    "sparsity": "recalled",
    "train_examples": "stated",
}
# The two commands that the authors' instructions give; the others are taken to be alike.
_COMMANDS = {("mnist", "sgd"), ("cifar_10", "nesterov_momentum")}


def _dense(workload: Workload, goal: float, train_steps: int) -> Workload:
    dataset = workload.dataset
    sure = "stated" if (dataset, workload.optimizer) in _COMMANDS else "recalled"
    certainty = _CERTAINTY | dict.fromkeys(("budget", "goal", "schedule"), sure)
    # The program has this network whole, whatever the other paper says of it.
    model = model_definition(workload.model)
    certainty |= dict.fromkeys((f"model: {name}" for name in model.settings), "stated")
    if dataset == "fashion_mnist":
        certainty["goal"] = "chosen"
    space: SearchSpace = tuple(
        (name, _SEARCHED.get(name, each)) for name, each in workload.search_space
    )
    return replace(
        workload,
        collection="sparsity_0",
        form=CIFAR_10_BY_CHANNEL if dataset == "cifar_10" else workload.form,
        search_space=space,
        sobol=_SOBOL,
        goal=goal,
        goal_inclusive=True,
        batch_sizes=_BATCH_SIZES,
        budget=StepBudget(fewest=train_steps, examples=0),
        evaluation=_EVALUATION,
        certainty=tuple(certainty.items()),
        paper=SPARSITY_STUDY,
    )


def _mnist(dataset: str, optimizer: str, goal: float) -> Workload:
    workload = mnist_workload("simple_cnn", optimizer, goal, ALL, dataset=dataset)
    split = replace(workload, held_out=HeldOut(examples=6_000), train_examples=54_000)
    return _dense(split, goal, 40_000)


def pruned(workload: Workload, sparsity: float, pruning: Pruning) -> Workload:
    """Return the workload with a share of its weights removed by SNIP before training."""
    return replace(
        workload, collection=f"sparsity_{sparsity:.0%}"[:-1], sparsity=sparsity, pruning=pruning
    )


_DENSE = tuple(
    workload
    for optimizer in _OPTIMIZERS
    for workload in (
        _mnist("mnist", optimizer, 0.02),
        _mnist("fashion_mnist", optimizer, 0.12),
        _dense(cifar_10_workload(optimizer), 0.4, 100_000),
    )
)

SPARSE_WORKLOADS = (
    *_DENSE,
    *(
        pruned(workload, sparsity, "snip_with_biases")
        for sparsity in (0.5, 0.7, 0.9)
        for workload in _DENSE
    ),
)
