"""What a sweep trains: its studies, and the blocks of trials that are still to be done."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dbtool.errors import UsageError
from producers.limits import DEFAULT_TRIALS
from producers.lockstep.rule import refuse_lockstep
from producers.search import StepsRange, points, search_space_json
from producers.seeds import SEARCH, derived_seed, study_seed, trial_seed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from producers.lockstep.rule import LockstepRule
    from producers.search import SearchSpace
    from producers.training.run import BlockTrials
    from producers.workloads.definition import Workload

# Bounds the memory of a block's batch losses, and the time that a kill can cost.
_MOST_STEPS_A_BLOCK = 30_000_000


@dataclass(frozen=True)
class StudyPlan:
    """One study of a sweep: a workload at a batch size.

    Attributes:
        release: the release that its rows belong to.
        workload: the workload's definition.
        batch_size: examples a step.
        train_steps: the step at which a trial is COMPLETE.
        seed: the study's seed, of which every random number follows.
        shared_batches: whether its trials share one batch order.
        least_trials: it has at least the trials 0 to least_trials - 1.
        feasible_trials: trials are added until this many are not INFEASIBLE.
        replacement: the folder whose examples stand in for the workload's data set; None where it
            trains on its own.
        search: how it is searched in lockstep; None where every trial trains to its end.
        neighbour: the batch size of the study around whose optimum it is searched; None where it
            searches the whole space.
    """

    release: str
    workload: Workload
    batch_size: int
    train_steps: int
    seed: int
    shared_batches: bool
    least_trials: int = DEFAULT_TRIALS
    feasible_trials: int = 0
    replacement: Path | None = None
    search: LockstepRule | None = None
    neighbour: int | None = None

    @property
    def name(self) -> str:
        """The study as a person calls it."""
        return f"{self.workload.name} at batch size {self.batch_size}"

    def folder(self, out: Path) -> Path:
        """Where its shards go."""
        return out / self.workload.name / str(self.batch_size)

    def search_space(self) -> SearchSpace:
        """Name and range of each metaparameter; ranges of steps are worked out from its own."""
        return {
            name: each.of(self.train_steps) if isinstance(each, StepsRange) else each
            for name, each in self.workload.search_space
        }

    def description(self) -> dict[str, Any]:
        """The study as its shards record it (schema/shard.toml), before it is searched."""
        described = {
            "release": self.release,
            "workload": self.workload.definition(),
            "batch_size": self.batch_size,
            "train_steps": self.train_steps,
            "early_stopping": self.search is not None,
            "search_space": search_space_json(self.search_space()),
            "seed": self.seed,
        }
        if self.search is not None:
            described["search"] = self._search_json(self.search)
        return described

    def _search_json(self, search: LockstepRule) -> dict[str, Any]:
        return search.to_json() | {
            "goal": self.workload.goal,
            "most_steps": self.train_steps,
            "first_trials": self.least_trials,
            "neighbour": self.neighbour,
        }

    def trials(self, trial_ids: Sequence[int]) -> BlockTrials:
        """The trials of those ids: their points of the search space and their seeds."""
        # Imports JAX, which wrong words need not wait for.
        from producers.training.run import BlockTrials

        first, last = min(trial_ids), max(trial_ids)
        space = self.search_space()
        seed = derived_seed(SEARCH, self.seed)
        sobol = self.workload.sobol
        drawn = points(
            space,
            seed=seed,
            first=first,
            count=last - first + 1,
            scramble=sobol.scramble,
            skip=sobol.skip,
        )
        return BlockTrials(
            trial_ids=tuple(trial_ids),
            seeds=tuple(trial_seed(self.seed, trial_id) for trial_id in trial_ids),
            metaparameters=tuple(drawn[trial_id - first] for trial_id in trial_ids),
            shared_seed=self.seed if self.shared_batches else None,
        )

    def blocks(self, trial_ids: Iterable[int], block: int) -> list[tuple[int, ...]]:
        """The trials in blocks of at most that many, fewer where their losses take much memory.

        Trials that advance in lockstep are one block.
        """
        ids = tuple(trial_ids)
        if self.search is not None:
            return [ids] if ids else []
        size = max(1, min(block, _MOST_STEPS_A_BLOCK // self.train_steps))
        return [ids[start : start + size] for start in range(0, len(ids), size)]


def plan_studies(
    workloads: Sequence[Workload],
    *,
    release: str,
    batch_sizes: Sequence[int] | Callable[[Workload], Sequence[int]] | None,
    steps: int | None,
    budget_scale: float,
    root_seed: int,
    shared_batches: bool,
    trials: int = DEFAULT_TRIALS,
    feasible: int = 0,
    replacements: Mapping[str, Path] | None = None,
    said_by: str = "--batch-sizes",
    search: LockstepRule | None = None,
) -> list[StudyPlan]:
    """The studies of a sweep, in the order of their workloads and of their search.

    Args:
        workloads: what to train.
        release: the release that the rows belong to.
        batch_sizes: which, for all or for each workload; None for those of the published studies.
        steps: steps of each trial; None for the workload's budget.
        budget_scale: multiplies the workload's budget.
        root_seed: the study's seeds are drawn from it.
        shared_batches: whether the trials of a study share one batch order.
        trials: of each study, at least.
        feasible: trials of a study are added until this many are not INFEASIBLE.
        replacements: by a workload's name, the folder that stands in for its data set.
        said_by: what the person chose the batch sizes with.
        search: how the studies are searched in lockstep; None to train every trial to its end.

    Raises:
        UsageError: when a batch size is smaller than 1 or larger than the training set, the budget
            is no number, or a workload cannot be searched in lockstep.
    """
    if not math.isfinite(budget_scale):
        raise UsageError(
            f"the budget cannot be multiplied by {budget_scale}; give a number to --budget"
        )
    first_trials = search.wide_trials if search is not None and search.window else trials
    studies = []
    for workload in workloads:
        chosen = batch_sizes(workload) if callable(batch_sizes) else batch_sizes
        sizes = list(dict.fromkeys(chosen or workload.batch_sizes))
        _refuse_unfit(sizes, workload, said_by)
        neighbours: dict[int, int | None] = dict.fromkeys(sizes)
        if search is not None:
            refuse_lockstep(workload)
            neighbours = search.neighbours(sizes)
        for batch_size, neighbour in neighbours.items():
            budget = max(1, round(workload.budget.steps(batch_size) * budget_scale))
            studies.append(
                StudyPlan(
                    release=release,
                    workload=workload,
                    batch_size=batch_size,
                    train_steps=steps or budget,
                    seed=study_seed(root_seed, workload.name, batch_size),
                    shared_batches=shared_batches,
                    least_trials=first_trials if neighbour is None else trials,
                    feasible_trials=feasible,
                    replacement=(replacements or {}).get(workload.name),
                    search=search,
                    neighbour=neighbour,
                )
            )
    return studies


def _refuse_unfit(batch_sizes: Sequence[int], workload: Workload, said_by: str) -> None:
    """Raises UsageError when a batch size does not fit a workload."""
    for batch_size in batch_sizes:
        if not 1 <= batch_size <= workload.train_examples:
            sizes = ", ".join(str(size) for size in workload.batch_sizes)
            raise UsageError(
                f"batch size {batch_size} does not fit {workload.name}, which has "
                f"{workload.train_examples} training examples; the published study took "
                f"{sizes} (choose with {said_by})"
            )
