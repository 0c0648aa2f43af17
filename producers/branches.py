"""Branches of trained trials: from a step on, a larger batch at a rate scaled to it, for a while.

The largest batch that does as well, after as many examples, as the trial's own is the critical
batch size at that step (Merrill et al., 2025, arXiv 2505.23971, section 3). All branches of a trial
at a step see the same examples in the same order. Their learning rate is multiplied by the factor
of the batch size where the update is proportional to the gradient, and by its root elsewhere (as
there); momentum stays, so that the effective learning rate grows alike. Where that rule is in
doubt, branches are trained with multiples of its rate as well, of which the best counts.
"""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dbtool.core.errors import UsageError
from producers.configuration import SweepOptions
from producers.plan import StudyPlan
from producers.seeds import derived_seed, study_seed
from producers.sweep.run import held_index
from producers.training.optimizers import LEARNING_RATE, optimizer_definition

# A branch's number is made of its step, the place of its rate, and its parent's number below this.
_PARENTS = 1_000
_PLACES = 2**31 // _PARENTS  # of 32 bits
# Updates of the largest batch, where no window is given.
_FEWEST_UPDATES = 16
_FACTORS = (2, 4, 8, 16)
PARENT_TRIAL, PARENT_STEP, PARENT_BATCH_SIZE = "parent_trial", "parent_step", "parent_batch_size"
"""Settings of a branch, beside the metaparameters that it trains with."""


@dataclass(frozen=True)
class Parent:
    """A trial that is trained again up to the steps at which it branches."""

    trial_id: int
    seed: int
    metaparameters: dict[str, float]


@dataclass(frozen=True)
class Branch:
    """The branches of a study's trials whose batches are larger by one factor.

    Attributes:
        release: that holds the parents.
        study: theirs.
        parents: its trials that are past the goal first, in that order.
        at: steps of the parents at which they branch, increasing.
        factor: by which batches are larger; 1 for the branch that the others are compared with.
        rates: multiples of the scaled learning rate, a branch for each.
    """

    release: str
    study: StudyPlan
    parents: tuple[Parent, ...]
    at: tuple[int, ...]
    factor: int
    rates: tuple[float, ...] = (1.0,)

    def to_json(self) -> dict[str, Any]:
        """Return where the branches come from, as their study records it."""
        return {
            "design": "branches",
            "release": self.release,
            "batch_size": self.study.batch_size,
            "factor": self.factor,
        } | ({} if self.rates == (1.0,) else {"rates": list(self.rates)})

    @property
    def trial_ids(self) -> list[int]:
        """Return the numbers of the branches."""
        ids = sorted(parent.trial_id for parent in self.parents)
        places = [
            step * len(self.rates) + rate for step in self.at for rate in range(len(self.rates))
        ]
        return [place * _PARENTS + trial_id for place in places for trial_id in ids]

    def step(self, trial_id: int) -> int:
        """Return the step at which a branch begins, from its number."""
        return trial_id // _PARENTS // len(self.rates)

    def parents_of(self, trial_ids: Iterable[int]) -> list[Parent]:
        """Return the parents of branches, from their numbers."""
        by_id = {parent.trial_id: parent for parent in self.parents}
        return [by_id[trial_id % _PARENTS] for trial_id in trial_ids]

    def metaparameters(self, trial_id: int) -> dict[str, float]:
        """Return what a branch trains with, and where it comes from."""
        (parent,) = self.parents_of([trial_id])
        optimizer = optimizer_definition(self.study.workload.optimizer)
        multiple = self.rates[trial_id // _PARENTS % len(self.rates)]
        growth = optimizer.rate_growth(self.factor) * multiple
        return parent.metaparameters | {
            LEARNING_RATE: parent.metaparameters[LEARNING_RATE] * growth,
            PARENT_TRIAL: parent.trial_id,
            PARENT_STEP: self.step(trial_id),
            PARENT_BATCH_SIZE: self.study.batch_size,
        }

    def seed(self, trial_id: int) -> int:
        """Return the seed of a branch's batches, the same for all factors and rates."""
        (parent,) = self.parents_of([trial_id])
        return derived_seed("branch", parent.seed, self.step(trial_id))


def branched_studies(
    studies: Sequence[StudyPlan], out: Path, options: SweepOptions, words: str = ""
) -> list[StudyPlan]:
    """Return the studies of the branches of studies that a release folder holds.

    The folder is that of --branch-from, or else `out`. Messages repeat the words on where the
    workloads are from.

    They belong to a workload of their own, without a goal, in the collection
    `branched_from_BATCH_SIZE`: what a branch reaches is no number of steps from the start.

    Raises:
        UsageError: the release has no trial of a study past its goal, a learning rate or batch
            size is not constant, or the window is no whole number of updates.
    """
    factors = sorted({1, *(options.branch_factors or _FACTORS)})
    rates = tuple(sorted(options.branch_rates or (1.0,)))
    folder = options.branch_from or out
    found = []
    for study in studies:
        workload = study.workload
        if workload.schedule != "constant":
            raise UsageError(
                f"{workload.name} changes its learning rate with the number of updates, of which "
                "branches of larger batches make fewer of as many examples, so that their rates "
                "would differ by more than the batch; branch workloads whose rate is constant"
            )
        if workload.batch_schedule:
            raise UsageError(
                f"{workload.name} has a batch schedule, so that a branch has no batch size to grow "
                "from; branch workloads whose batch size is constant"
            )
        whole = study.batch_size * math.lcm(*factors)
        least = _FEWEST_UPDATES * study.batch_size * factors[-1]
        suiting = -(-least // whole) * whole
        window = options.branch_window or suiting
        if window % whole:
            raise UsageError(
                f"--branch-window {window} is no whole number of updates at all batch sizes; give "
                f"a multiple of {whole}, such as {suiting}"
            )
        at = tuple(sorted(set(options.branch_at or ())))
        if at[-1] > (most := _PLACES // len(rates) - 1):
            raise UsageError(f"--branch-at {at[-1]} should be at most {most:,}")
        release, parents = _parents(study, folder, at[-1], words)
        folders = [f"branched_from_{study.batch_size}", workload.collection]
        branched = replace(workload, collection="/".join(filter(None, folders)), goal=None)
        for factor in factors:
            batch_size = study.batch_size * factor
            found.append(
                replace(
                    study,
                    workload=branched,
                    batch_size=batch_size,
                    train_steps=window // batch_size,
                    seed=study_seed(study.seed, branched.name, batch_size),
                    feasible_trials=0,
                    search=None,
                    neighbour=None,
                    branch=Branch(release, study, parents, at, factor, rates),
                )
            )
    return found


def _parents(
    study: StudyPlan, folder: Path, last: int, words: str
) -> tuple[str, tuple[Parent, ...]]:
    """Return a study's first trials to pass its goal after a step, and their release's name."""
    import polars as pl

    import dbtool

    held = held_index(folder).trials_of(*study.key)
    numbers: list[int] = []
    if held:
        with dbtool.open(folder) as db:
            rows = db.crossings(study.workload.name).filter(
                pl.col("steps") > last, batch_size=study.batch_size
            )
        numbers = rows.sort("steps", "trial_id")["trial_id"].to_list()
    if not numbers:
        raise UsageError(
            f"{folder} holds no trial of {study.name} that passed its goal after step {last}; "
            f"train it first, with `dbtool produce {study.workload.name}{words} --batch-sizes "
            f"{study.batch_size} --search lockstep --reaching 8 --out {folder}`, or branch earlier"
        )
    return rows["release"][0], tuple(
        Parent(number, held[number]["seed"], json.loads(held[number]["metaparameters"]))
        for number in numbers[: study.least_trials]
    )
