"""The language model as the release `language_model` trains it: small enough for two cores.

The shipped workload reads 64 tokens of a sentence, and its goal of 5.3 is reached after some 20,000
sentences. Here a sentence is cut at 32 tokens, which keeps four fifths of all tokens and takes half
of the arithmetic, and the goal is 5.5, reached after a third as many. Evaluated every 1,000
sentences, a tenth of the shipped workload's spacing. docs/measured.md has what came out.
"""

from dataclasses import replace

from producers.datasets.forms import TextForm
from producers.workloads.definition import EvaluationRule, StepBudget
from producers.workloads.registry import WORKLOADS as PUBLISHED

WORKLOADS = [
    replace(
        PUBLISHED[f"brown/transformer_tiny/{optimizer}"],
        collection="tokens_32_goal_5.5",
        form=TextForm(vocabulary=4_096, length=32),
        goal=5.5,
        batch_sizes=(8, 16, 32, 64, 128, 256, 512, 1_024),
        budget=StepBudget(fewest=250, examples=200_000),
        evaluation=EvaluationRule(
            8, other_splits_every=16, examples_between=1_000, training_subset=2_000
        ),
    )
    for optimizer in ("adamw", "muon_hidden", "nesterov_momentum")
]
