"""The language model as the release `language_model` trains it: a goal that two cores can afford.

The shipped workload's goal of 5.3 is reached after some 20,000 sentences; 5.5 after half as many.
Evaluated every 1,000 sentences, a tenth of that. What comes out goes into docs/measured.md.
"""

from dataclasses import replace

from producers.workloads.definition import EvaluationRule, StepBudget
from producers.workloads.registry import WORKLOADS as PUBLISHED

WORKLOADS = [
    replace(
        PUBLISHED[f"brown/transformer_tiny/{optimizer}"],
        collection="goal_5.5",
        goal=5.5,
        batch_sizes=(8, 16, 32, 64, 128, 256, 512, 1_024),
        budget=StepBudget(fewest=250, examples=200_000),
        evaluation=EvaluationRule(
            8, other_splits_every=16, examples_between=1_000, training_subset=2_000
        ),
    )
    for optimizer in ("adamw", "muon_hidden", "nesterov_momentum")
]
