"""Plan files: TOML that says what a release trains, for `dbtool produce --plan`."""

from __future__ import annotations

import reprlib
import tomllib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from dbtool.errors import UsageError, closest
from producers.limits import BUDGET, DEFAULT_TRIALS, DROPPING, FEASIBLE, STEPS, TRIALS, Limits
from producers.lockstep.rule import SEARCHES, SearchWords
from producers.plan import StudyPlan, plan_studies
from producers.workloads.registry import find_workloads

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from pathlib import Path

    from producers.lockstep.rule import LockstepRule

# The largest whole number that TOML promises.
_MOST = 2**63 - 1


@dataclass(frozen=True)
class PlannedSweep:
    """A table [[sweep]] of a plan: studies that are trained alike.

    Attributes:
        workloads: names or patterns.
        batch_sizes: None for those of the published studies.
        trials: of each study, at least.
        feasible: trials of a study are added until this many are not INFEASIBLE.
        steps: of each trial; None for the workload's budget.
        budget: multiplies the workload's budget.
        search: how its studies are searched, with the four below; see `SearchWords`.
        dropping: how many times as fast the leader of a search was.
        reaching: how many trials have to be past the goal.
        wide_trials: of the study that searches the whole space.
        wide_at: the batch size that this study is closest to.
    """

    workloads: tuple[str, ...]
    batch_sizes: tuple[int, ...] | None = None
    trials: int = DEFAULT_TRIALS
    feasible: int = 0
    steps: int | None = None
    budget: float = 1.0
    search: str | None = None
    dropping: float | None = None
    reaching: int | None = None
    wide_trials: int | None = None
    wide_at: int | None = None

    def rule(self) -> LockstepRule | None:
        """How its studies are searched in lockstep; None where every trial trains to its end.

        Raises:
            UsageError: what it says of the search clashes.
        """
        words = SearchWords(
            self.search, self.dropping, self.reaching, self.wide_trials, self.wide_at
        )
        rule = words.rule()
        if rule is not None and self.feasible:
            raise UsageError(f"search {self.search} adds trials by itself; leave out feasible")
        return rule


@dataclass(frozen=True)
class PlanFile:
    """What a release trains.

    Attributes:
        path: the file that says so.
        release: that the measurements belong to.
        sweeps: in the order of the file.
        seed: every random number of the release follows from it.
    """

    path: Path
    release: str
    sweeps: tuple[PlannedSweep, ...]
    seed: int = 0

    def studies(self, dtype: Literal["float32", "bfloat16"] = "float32") -> list[StudyPlan]:
        """The studies in the order of the file, each with its own number of trials.

        Args:
            dtype: what models compute in.

        Raises:
            UsageError: a workload is unknown, a batch size does not fit one, or a study is named
                twice.
        """
        studies: dict[str, StudyPlan] = {}
        numbers: dict[str, int] = {}
        for number, sweep in enumerate(self.sweeps, 1):
            for pattern in sweep.workloads:
                for study in self._studies(number, pattern, dtype):
                    if study.name in studies:
                        raise UsageError(
                            f"{_place(self.path, number)}: {study.name} was named before, in "
                            f"[[sweep]] {numbers[study.name]}; leave one of them out"
                        )
                    studies[study.name] = study
                    numbers[study.name] = number
        return list(studies.values())

    def _studies(
        self, number: int, pattern: str, dtype: Literal["float32", "bfloat16"]
    ) -> list[StudyPlan]:
        """The studies of a pattern of the sweep of that number, counted from 1."""
        sweep = self.sweeps[number - 1]
        try:
            return plan_studies(
                [replace(workload, dtype=dtype) for workload in find_workloads([pattern])],
                release=self.release,
                batch_sizes=sweep.batch_sizes,
                steps=sweep.steps,
                budget_scale=sweep.budget,
                root_seed=self.seed,
                shared_batches=False,
                trials=sweep.trials,
                feasible=sweep.feasible,
                said_by="batch_sizes",
                search=sweep.rule(),
            )
        except UsageError as error:
            raise UsageError(f"{_place(self.path, number)}: {error}") from error


def _place(path: Path, number: int) -> str:
    """A table [[sweep]] as errors name it."""
    return f"{path}, [[sweep]] {number}"


def read_plan(path: Path) -> PlanFile:
    """The plan that a file holds; its workloads are looked up by `PlanFile.studies`.

    Raises:
        UsageError: the file cannot be read, is not TOML, or says what no plan says.
    """
    written = _read(path)
    _refuse_unknown_keys(
        str(path), written, [*_PLAN, "sweep"], _SWEEP, "it belongs into a [[sweep]]"
    )
    tables = written.pop("sweep", [])
    if not (isinstance(tables, list) and all(isinstance(table, dict) for table in tables)):
        raise UsageError(f"{path}: sweep is no list of tables; write [[sweep]] above each of them")
    if not tables:
        raise UsageError(
            f"{path} has no [[sweep]]; add one with what to train, such as "
            'workloads = ["mnist/fc_64_64_64/sgd"]'
        )
    sweeps = [_sweep(_place(path, number), table) for number, table in enumerate(tables, 1)]
    values = _values(str(path), written, _PLAN, required="release")
    return PlanFile(path=path, sweeps=tuple(sweeps), **values)


def _read(path: Path) -> dict[str, Any]:
    """The tables of a TOML file.

    Raises:
        UsageError: it cannot be read or is not TOML.
    """
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except FileNotFoundError as error:
        beside = sorted(str(other) for other in path.parent.glob("*.toml"))
        near = f"closest: {', '.join(closest(str(path), beside))}; " if beside else ""
        raise UsageError(f"there is no plan {path}; {near}name a TOML file with --plan") from error
    except OSError as error:
        raise UsageError(
            f"cannot read the plan {path}: {error.strerror}; name a TOML file with --plan"
        ) from error
    except (ValueError, RecursionError) as error:
        # Besides what is not TOML: letters that are not UTF-8, endless numbers and nesting.
        reason = (str(error).splitlines() or [""])[0].rstrip(".")
        raise UsageError(f"{path} is not TOML ({reason}); correct it there") from error


def _sweep(place: str, table: Mapping[str, Any]) -> PlannedSweep:
    """The sweep that a table says.

    Raises:
        UsageError: it says what no sweep says.
    """
    _refuse_unknown_keys(place, table, _SWEEP, _PLAN, "it belongs above the first [[sweep]]")
    sweep = PlannedSweep(**_values(place, table, _SWEEP, required="workloads"))
    if sweep.steps is not None and "budget" in table:
        raise UsageError(f"{place}: steps and budget both say how long to train; leave one out")
    return sweep


@dataclass(frozen=True)
class _Rule:
    """What a key takes.

    Attributes:
        wanted: in words, with an example.
        fits: whether it takes a value.
    """

    wanted: str
    fits: Callable[[Any], bool]


def _whole(limits: Limits, example: int) -> _Rule:
    return _Rule(
        f"a whole number from {limits.least:,} to {limits.most:,}, such as {example}",
        lambda value: _is_whole(value) and limits.least <= value <= limits.most,
    )


def _is_whole(value: object) -> bool:
    # Truth values are numbers in Python, and not in TOML.
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object, limits: Limits) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return limits.least <= value <= limits.most


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _are_sizes(value: object) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(_is_whole(size) and 1 <= size <= _MOST for size in value)
        and len(set(value)) == len(value)
    )


_PLAN = {
    "release": _Rule('a name, such as "measured"', _is_text),
    "seed": _whole(Limits(0, _MOST), 0),
}
_SWEEP = {
    "workloads": _Rule(
        'a list of names or patterns, such as ["mnist/fc_*"]',
        lambda value: isinstance(value, list) and bool(value) and all(map(_is_text, value)),
    ),
    "batch_sizes": _Rule("a list of different whole numbers from 1, such as [1, 64]", _are_sizes),
    "trials": _whole(TRIALS, DEFAULT_TRIALS),
    "feasible": _whole(FEASIBLE, DEFAULT_TRIALS),
    "steps": _whole(STEPS, 1000),
    "budget": _Rule(
        f"a number from {BUDGET.least} to {BUDGET.most}, such as 0.5",
        lambda value: _is_number(value, BUDGET),
    ),
    "search": _Rule(f"one of {', '.join(SEARCHES)}", lambda value: value in SEARCHES),
    "dropping": _Rule(
        f"a number above {DROPPING.least} up to {DROPPING.most}, such as 4",
        lambda value: _is_number(value, DROPPING) and value > DROPPING.least,
    ),
    "reaching": _whole(TRIALS, 3),
    "wide_trials": _whole(TRIALS, 50),
    "wide_at": _whole(Limits(1, _MOST), 64),
}


def _refuse_unknown_keys(
    place: str,
    table: Mapping[str, Any],
    known: Collection[str],
    elsewhere: Collection[str],
    move: str,
) -> None:
    """Raises UsageError when a table has other keys than the known ones.

    Args:
        place: of the table.
        table: its keys and values.
        known: keys that it may have.
        elsewhere: keys that belong elsewhere.
        move: where they belong.
    """
    for key in table:
        if key not in known:
            mend = move if key in elsewhere else f"closest: {', '.join(closest(key, known))}"
            raise UsageError(f"{place}: unknown key {_SHOWN.repr(key)}; {mend}")


def _values(
    place: str, table: Mapping[str, Any], rules: Mapping[str, _Rule], *, required: str
) -> dict[str, Any]:
    """The values of a table with known keys, lists as tuples.

    Raises:
        UsageError: one is none that its key takes, or one that is needed is missing.
    """
    for key, value in table.items():
        if not rules[key].fits(value):
            raise UsageError(f"{place}: {key} is {_SHOWN.repr(value)}; give it {rules[key].wanted}")
    if required not in table:
        raise UsageError(f"{place}: {required} is missing; give it {rules[required].wanted}")
    return {key: tuple(each) if isinstance(each, list) else each for key, each in table.items()}


class _Shown(reprlib.Repr):
    """Values as TOML writes them, shortened where they are long."""

    def repr_bool(self, value: bool, level: int) -> str:  # noqa: ARG002 (Repr's own)
        return str(value).lower()

    def repr_int(self, value: int, level: int) -> str:
        # Python refuses to write out endless numbers.
        return super().repr_int(value, level) if value.bit_length() < 1_000 else "an endless number"


_SHOWN = _Shown()
