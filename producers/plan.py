"""The studies of a sweep, and the blocks of trials that are still to be done."""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from dbtool.core.errors import UsageError
from dbtool.core.footer import Study
from dbtool.core.manifest import SWEEP_WORK
from producers.configuration import DEFAULT_TRIALS, Plan, Sweep
from producers.datasets.registry import dataset_definition
from producers.lockstep import LockstepRule, refuse_lockstep
from producers.search import SearchSpace, StepsRange, points, search_space_json
from producers.seeds import SEARCH, derived_seed, study_seed, trial_seed
from producers.workloads.batch_schedule import scheduled
from producers.workloads.definition import Workload, recorded_workload
from producers.workloads.own import load_own
from producers.workloads.presets import NO_PRESET, Preset, preset_data
from producers.workloads.registry import find_workloads
from producers.workloads.replace import parse_replacement, replace_data

if TYPE_CHECKING:
    from producers.branches import Branch
    from producers.training.run import BlockTrials

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
        given_seed: the sweep's seed that a person gave, of which that follows.
        shared_batches: whether its trials share one batch order.
        least_trials: it has at least the trials 0 to least_trials - 1.
        feasible_trials: trials are added until this many are not INFEASIBLE.
        replacement: the folder whose examples stand in for the workload's data set; None where it
            trains on its own.
        search: how it is searched in lockstep; None where every trial trains to its end.
        neighbour: the batch size of the study around whose optimum it is searched; None where it
            searches the whole space.
        branch: whose trials its own go on from; None where they start from the beginning.
    """

    release: str
    workload: Workload
    batch_size: int
    train_steps: int
    seed: int
    given_seed: int
    shared_batches: bool
    least_trials: int = DEFAULT_TRIALS
    feasible_trials: int = 0
    replacement: Path | None = None
    search: LockstepRule | None = None
    neighbour: int | None = None
    branch: "Branch | None" = None

    @property
    def name(self) -> str:
        """Return the study as a person calls it."""
        return f"{self.workload.name} at batch size {self.batch_size}"

    @property
    def key(self) -> tuple[str, int]:
        """Return the study as a release knows it: the workload's name and the batch size."""
        return self.workload.name, self.batch_size

    def work_folder(self, out: Path) -> Path:
        """Return the folder of what a sweep goes on with: checkpoints and rounds of a search."""
        return out / SWEEP_WORK / quote(self.workload.name, safe="") / str(self.batch_size)

    def search_space(self) -> SearchSpace:
        """Return the range of each metaparameter by name; shares of the steps become steps."""
        if self.branch is not None:
            return {}  # its trials have those of their parents
        return {
            name: each.of(self.train_steps) if isinstance(each, StepsRange) else each
            for name, each in self.workload.search_space
        }

    def study(self) -> Study:
        """Return the study as shards record it, before it is searched."""
        return Study(
            workload=recorded_workload(self.workload),
            batch_size=self.batch_size,
            train_steps=self.train_steps,
            early_stopping=self.search is not None,
            search_space=search_space_json(self.search_space()),
            seed=self.seed,
            search=self._search_json(),
        )

    def _search_json(self) -> dict[str, Any] | None:
        if self.branch is not None:
            return self.branch.to_json()
        if self.search is None:
            return None
        return self.search.to_json(self.workload) | {
            "goal": self.workload.goal,
            "most_steps": self.train_steps,
            "first_trials": self.least_trials,
            "neighbour": self.neighbour,
        }

    def trials(self, trial_ids: Sequence[int]) -> "BlockTrials":
        """Return the trials of those ids: their points of the search space and their seeds."""
        if self.branch is not None:
            return self.trials_at(trial_ids, map(self.branch.metaparameters, trial_ids))
        first, last = min(trial_ids), max(trial_ids)
        space = self.search_space()
        seed = derived_seed(SEARCH, self.seed)
        count = last - first + 1
        drawn = points(space, seed=seed, first=first, count=count, sobol=self.workload.sobol)
        return self.trials_at(trial_ids, (drawn[trial_id - first] for trial_id in trial_ids))

    def trials_at(
        self, trial_ids: Sequence[int], metaparameters: Iterable[dict[str, float]]
    ) -> "BlockTrials":
        """Return the trials of those ids, with given metaparameters, and their seeds."""
        # Imports JAX, which a wrong plan need not wait for.
        from producers.training.run import BlockTrials

        seed_of = self.branch.seed if self.branch else partial(trial_seed, self.seed)
        return BlockTrials(
            trial_ids=tuple(trial_ids),
            seeds=tuple(map(seed_of, trial_ids)),
            metaparameters=tuple(metaparameters),
            shared_seed=self.seed if self.shared_batches else None,
        )

    def blocks(self, trial_ids: Iterable[int], block: int) -> list[tuple[int, ...]]:
        """Return blocks of at most `block` trials, fewer if their losses take much memory.

        Trials that advance in lockstep are one block.
        """
        ids = tuple(trial_ids)
        if self.search is not None:
            return [ids] if ids else []
        size = max(1, min(block, _MOST_STEPS_A_BLOCK // self.train_steps))
        return [ids[start : start + size] for start in range(0, len(ids), size)]


@contextlib.contextmanager
def planned_studies(
    plan: Plan,
    *,
    preset: Preset = NO_PRESET,
    dtype: Literal["float32", "bfloat16"] = "float32",
    vocabulary: Path | None = None,
    path: Path | None = None,
) -> Iterator[list[StudyPlan]]:
    """Yield the studies of a plan in order; data made up for them exists while the block runs.

    The preset gives what the plan leaves open, and a subword vocabulary is trained where none is
    given. The path is that of the plan's file, for messages, and relative ones are seen from its
    folder; None where a command's options are the plan.

    Raises:
        UsageError: a workload is unknown, a batch size does not fit one, a study is named twice, or
            what replaces data or the user's own file is wrong.
        DbtoolError: the file's code fails, or a folder cannot be read as the data set that it
            stands in for.
    """
    origin = "" if path is None else f"the plan {path}"
    base = Path() if path is None else path.parent
    with _blaming(origin):
        load_own(plan.own_file(base))
    named: list[tuple[int, Workload]] = []
    for number, sweep in enumerate(plan.sweep, 1):
        with _blaming(origin, number):
            for pattern in sweep.workloads:
                named += [(number, workload) for workload in find_workloads([pattern])]
    workloads = list({workload.name: workload for _, workload in named}.values())
    with _blaming(origin):
        replacements = [parse_replacement(text, base) for text in plan.replace]
    with preset_data(preset, workloads, replacements, vocabulary) as prepared:
        with _blaming(origin):
            replaced = replace_data(*prepared, goal=plan.goal, vocabulary=vocabulary)
        data = dict(zip(workloads, replaced.values(), strict=True))
        studies: dict[str, tuple[StudyPlan, int]] = {}
        for number, named_workload in named:
            workload, folder = data[named_workload]
            sweep, workload = plan.sweep[number - 1], replace(workload, dtype=dtype)
            with _blaming(origin, number):
                for study in plan_studies(plan, sweep, workload, preset, folder):
                    if before := studies.get(study.name):
                        raise UsageError(
                            f"{study.name} was named before, in [[sweep]] {before[1]}; "
                            "leave one of them out"
                        )
                    studies[study.name] = study, number
        yield [study for study, _ in studies.values()]


@contextlib.contextmanager
def _blaming(origin: str, number: int | None = None) -> Iterator[None]:
    """Have what is wrong begin with the file, and the table of that number, that says it."""
    try:
        yield
    except UsageError as error:
        if not origin:
            raise
        table = "" if number is None else f", [[sweep]] {number}"
        raise UsageError(f"{origin}{table}: {error}") from error


def plan_studies(
    plan: Plan,
    sweep: Sweep,
    workload: Workload,
    preset: Preset = NO_PRESET,
    folder: Path | None = None,
) -> list[StudyPlan]:
    """Return the studies of a workload in a sweep, in the order of their search.

    The sweep's own names of workloads are passed over, and the preset gives what it leaves open.
    The folder stands in for the workload's data set; None where it trains on its own.

    Raises:
        UsageError: a batch size is larger than the training set, or the workload cannot be searched
            in lockstep or follow the batch schedule.
    """
    # Trials of a schedule have the seeds and metaparameters of those that it is compared with.
    seeded = workload.name
    if sweep.batch_schedule is not None:
        workload = scheduled(workload, sweep.batch_schedule)
    batch_sizes = sweep.batch_sizes or preset.batch_sizes(workload)
    factor = max((factor for _, factor in workload.batch_schedule), default=1)
    for batch_size in batch_sizes:
        if batch_size * factor > workload.train_examples:
            grown = "" if factor == 1 else f", {factor} times {batch_size},"
            raise UsageError(
                f"batch size {batch_size * factor}{grown} does not fit {workload.name}, which has "
                f"{workload.train_examples} training examples; this workload lists "
                f"{', '.join(map(str, workload.batch_sizes))}"
            )
    is_streamed = dataset_definition(workload.source).is_streamed
    search = sweep.rule()
    neighbours: dict[int, int | None] = dict.fromkeys(batch_sizes)
    if search is not None:
        refuse_lockstep(workload, search)
        neighbours = search.neighbours(batch_sizes)
    steps = preset.steps if sweep.budget is None and sweep.steps is None else sweep.steps
    budget = preset.budget if sweep.budget is None else sweep.budget
    trials = preset.trials if sweep.trials is None else sweep.trials
    feasible = preset.feasible if sweep.feasible is None else sweep.feasible
    studies = [
        StudyPlan(
            release=plan.release,
            workload=workload,
            batch_size=batch_size,
            train_steps=steps or max(1, round(workload.budget.steps(batch_size) * budget)),
            seed=study_seed(plan.seed, seeded, batch_size),
            given_seed=plan.seed,
            shared_batches=plan.batches == "shared" if plan.batches else is_streamed,
            least_trials=(
                search.wide_trials if search and search.window and neighbour is None else trials
            ),
            # A search in lockstep adds trials by itself, where the best one lies at an edge.
            feasible_trials=0 if search else feasible,
            replacement=folder,
            search=search,
            neighbour=neighbour,
        )
        for batch_size, neighbour in neighbours.items()
    ]
    if sweep.batch_schedule is not None:
        last, _ = workload.batch_schedule[-1]
        for study in studies:
            if study.train_steps <= last:
                raise UsageError(
                    f"the batches of {study.name} would grow after step {last}, and its trials end "
                    f"at step {study.train_steps}; give an earlier step, or train for longer"
                )
    return studies
