"""Batch schedules: batches that grow within a trial, and its learning rate with them.

From a step on, batches are larger by a factor, and the learning rate grows as that of a branch
does: "batch size warmup" (Merrill et al., 2025, arXiv 2505.23971).
"""

from dataclasses import replace
from itertools import pairwise

from dbtool.core.errors import UsageError
from dbtool.core.footer import check_names
from producers.workloads.definition import Workload, recorded_workload


def scheduled(workload: Workload, text: str) -> Workload:
    """Return a workload with a batch schedule, in a collection that says which.

    Example:
        >>> from producers.workloads.registry import WORKLOADS
        >>> scheduled(WORKLOADS["mnist/fc_64_64_64/sgd"], "2@500,4@2000").name
        'batch_x2_at_500_x4_at_2000/mnist/fc_64_64_64/sgd'

    The text has the factors, each with the step after which batches are that much larger.

    Raises:
        UsageError: its trials cannot follow the schedule.
        FooterError: the schedule is too long for a name.
    """
    if workload.batch_schedule:
        raise UsageError(
            f"{workload.name} has a batch schedule of its own; train it without another"
        )
    pairs = [change.split("@") for change in text.split(",")]
    changes = tuple((int(step), int(factor)) for factor, step in pairs)
    named = "_".join(["batch", *(f"x{factor}_at_{step}" for step, factor in changes)])
    found = replace(
        workload,
        batch_schedule=changes,
        certainty=(*workload.certainty, ("batch_schedule", "chosen")),
    )
    refuse_batch_schedule(found)
    found = replace(found, collection="/".join(filter(None, [named, workload.collection])))
    check_names(recorded_workload(found))
    return found


def refuse_batch_schedule(workload: Workload) -> None:
    """Refuse a batch schedule that the workload's trials cannot follow."""
    schedule = workload.batch_schedule
    for change in schedule:
        numbers = change if isinstance(change, tuple) and len(change) == 2 else ("", "")
        if not all(type(number) is int and number >= 1 for number in numbers):
            raise UsageError(
                f"the batch_schedule of {workload.name} holds {change!r:.60}, and should hold "
                "steps with whole factors, both from 1, such as (500, 2)"
            )
    for (before, small), (after, large) in pairwise([(0, 1), *schedule]):
        if after <= before:
            raise UsageError(
                f"the batch schedule of {workload.name} has step {after} after step {before}; "
                "its steps should increase, as in 2@500,4@2000"
            )
        if large <= small:
            raise UsageError(
                f"the batch schedule of {workload.name} has factor {large} at step {after}, after "
                f"factor {small}; its factors should increase from 1, as in 2@500,4@2000"
            )
    if schedule and workload.schedule != "constant":
        raise UsageError(
            f"{workload.name} changes its learning rate with the number of updates, of which "
            "larger batches make fewer of as many examples, so that no rule says how its rate "
            "grows with them; choose a workload whose rate is constant"
        )
