"""The rule of a search in lockstep, and the steps at which its trials are evaluated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbtool.core.errors import UsageError
from producers.workloads.definition import EvaluationRule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from producers.workloads.definition import Workload

# All trials are evaluated as the one says; those that have come near the goal as the other does.
FAR = EvaluationRule(4, other_splits_every=8, examples_between=4_000)
NEAR = EvaluationRule(8, other_splits_every=8, examples_between=2_000)


@dataclass(frozen=True)
class LockstepRule:
    """A search whose trials advance together until the first few of them are past the goal.

    Steps to result are then known exactly and no trial is trained for longer, where the learning
    rate is constant: the steps that a trial takes do not depend on how many follow.

    Attributes:
        window: whether every study but one searches a window around the optimum of the study at
            the batch size next to it; otherwise every study searches the whole space.
        wide_trials: of each study that searches the whole space.
        wide_at: the study at the batch size closest to this searches the whole space.
        reaching: a study ends when so many of its trials are past the goal; more than one tell how
            lucky the first was.
        dropping: a trial is dropped when its best value after x steps is worse than the leader's
            after x / dropping steps; None to drop nobody.
    """

    window: bool = True
    wide_trials: int = 50
    wide_at: int = 64
    reaching: int = 1
    dropping: float | None = None

    def neighbours(self, batch_sizes: Sequence[int]) -> dict[int, int | None]:
        """Return batch sizes in the order of their search, each with the one it starts from.

        The first searches the whole space; the others follow outwards, the smaller ones first.
        """
        if not self.window:
            return dict.fromkeys(batch_sizes)
        ordered = sorted(batch_sizes)
        first = min(ordered, key=lambda size: abs(math.log(size / self.wide_at)))
        at = ordered.index(first)
        smaller, larger = ordered[: at + 1][::-1], ordered[at:]
        chain: dict[int, int | None] = {first: None}
        for outwards in (smaller, larger):
            chain.update(zip(outwards[1:], outwards[:-1], strict=True))
        return chain

    def evaluations(
        self, workload: Workload, train_steps: int, batch_size: int
    ) -> tuple[dict[int, bool], frozenset[int]]:
        """Return the evaluations of trials of `train_steps` steps.

        A workload whose protocol evaluates every so many steps keeps to that.

        Returns:
            The steps in order, each with whether every split is evaluated; and those of them at
            which all trials are.
        """
        if workload.evaluation.every is not None:
            schedule = workload.evaluation.schedule(train_steps, batch_size)
            return schedule, frozenset(schedule)
        steps: dict[int, bool] = {}
        everyone: list[int] = []
        due = 0
        for step in NEAR.schedule(train_steps, batch_size):
            steps[step] = False
            if step >= due or step == train_steps:
                steps[step] = len(everyone) % FAR.other_splits_every == 0
                everyone.append(step)
                due = FAR.after(step, batch_size)
        steps[train_steps] = True
        return steps, frozenset(everyone)

    def to_json(self) -> dict[str, Any]:
        """Return the rule as a shard records it."""
        evaluations = {
            name: {
                "validation_per_doubling": rule.validation_per_doubling,
                "examples_between": rule.examples_between,
            }
            for name, rule in (("far", FAR), ("near", NEAR))
        }
        return {
            "method": "window" if self.window else "lockstep",
            "reaching": self.reaching,
            "dropping": self.dropping,
            "wide_trials": self.wide_trials,
            "wide_at": self.wide_at,
            "evaluations": evaluations,
        }


def refuse_lockstep(workload: Workload) -> None:
    """Refuse a search in lockstep where it would not be exact.

    Raises:
        UsageError: the workload's learning rate changes over the budget, or it has no goal.
    """
    remedy = "search it with --search fixed"
    if workload.schedule != "constant":
        raise UsageError(
            f"{workload.name} decays its learning rate over its budget of steps, so that how fast "
            f"a trial is depends on how long it will train, and none can be stopped early; {remedy}"
        )
    if workload.goal is None:
        raise UsageError(
            f"{workload.name} has no goal to stop its trials at; give one with --goal, or {remedy}"
        )
