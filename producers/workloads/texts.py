"""The published workloads on LM1B and Common Crawl."""

from __future__ import annotations

from dataclasses import replace

from producers.datasets.forms import COMMON_CRAWL, LM1B
from producers.workloads.definition import (
    EvaluationRule,
    StepBudget,
    Workload,
    powers,
    search_space,
)

_LM1B_EXAMPLES = 30_301_028

# The paper shows trials of one epoch, and of 25,000 steps, that reach the goal.
_BUDGET = StepBudget(fewest=25_000, examples=2 * _LM1B_EXAMPLES)
_SGD_BUDGET = StepBudget(fewest=100_000, examples=5 * _LM1B_EXAMPLES)

CERTAINTY = {
    "batch_sizes": "stated",
    "budget": "chosen",
    "evaluation": "chosen",
    "form": "recalled",
    # That sentences stay whole is recalled, not the number.
    "form: evaluation_length": "chosen",
    "goal": "stated",
    "schedule": "recalled",
    "search_space": "stated",
    "train_examples": "stated",
}
_COMMON_CRAWL_CERTAINTY = CERTAINTY | {
    "form: evaluation_length": "recalled",
    "train_examples": "recalled",
}


def _lm1b(
    model: str, optimizer: str, goal: float, batch_sizes: tuple[int, ...] = powers(16, 32_768)
) -> Workload:
    return Workload(
        collection=None,
        dataset="lm1b",
        source="lm1b",
        model=model,
        optimizer=optimizer,
        schedule="constant",
        search_space=search_space(optimizer),
        metric="val_cross_entropy_error",
        goal=goal,
        maximize=False,
        train_examples=_LM1B_EXAMPLES,
        batch_sizes=batch_sizes,
        budget=_SGD_BUDGET if optimizer == "sgd" else _BUDGET,
        evaluation=EvaluationRule(8, other_splits_every=8, examples_between=100_000),
        certainty=tuple(CERTAINTY.items()),
        form=LM1B,
    )


_TRANSFORMER = _lm1b("transformer_base", "nesterov_momentum", 3.9)

TEXT_WORKLOADS = (
    _TRANSFORMER,
    _lm1b("transformer_shallow", "sgd", 3.9, (32, 128, 512, 2_048, 8_192)),
    _lm1b("transformer_shallow", "momentum", 3.9, (32, 128, 512, 2_048, 8_192, 32_768)),
    _lm1b("transformer_shallow", "nesterov_momentum", 3.9),
    _lm1b("transformer_narrow_and_shallow", "nesterov_momentum", 4.2),
    _lm1b("transformer_wide", "nesterov_momentum", 4.2),
    _lm1b("lstm", "nesterov_momentum", 3.9, (16, 64, 256, 1_024, 4_096, 16_384, 32_768)),
    replace(
        _TRANSFORMER,
        dataset="common_crawl",
        source="common_crawl",
        train_examples=25_800_000_000,
        batch_sizes=(32, 64, 256, 1_024, 4_096, 16_384),
        certainty=tuple(_COMMON_CRAWL_CERTAINTY.items()),
        form=COMMON_CRAWL,
    ),
)
