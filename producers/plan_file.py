"""Plan files: TOML that says what a release trains, for `dbtool produce --plan`."""

from __future__ import annotations

import contextlib
import reprlib
import sys
import tomllib
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

from dbtool.errors import UsageError, closest
from producers.limits import BUDGET, DEFAULT_TRIALS, FEASIBLE, STEPS, TRIALS, Limits
from producers.lockstep.words import Search, SearchWords
from producers.plan import StudyPlan, plan_studies
from producers.workloads.registry import find_workloads
from producers.workloads.replace import parse_replacement, replace_data

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from producers.workloads.definition import Workload

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
        search: how its studies are searched.
    """

    workloads: tuple[str, ...]
    batch_sizes: tuple[int, ...] | None = None
    trials: int = DEFAULT_TRIALS
    feasible: int = 0
    steps: int | None = None
    budget: float = 1.0
    search: SearchWords = field(default_factory=SearchWords)


@dataclass(frozen=True)
class PlanFile:
    """What a release trains.

    Attributes:
        path: the file that says so.
        release: that the measurements belong to.
        sweeps: in the order of the file.
        seed: every random number of the release follows from it.
        replace: the folders that stand in for data sets, each as SOURCE=NAME:FOLDER.
        goal: of the workloads whose data is replaced; None for none.
    """

    path: Path
    release: str
    sweeps: tuple[PlannedSweep, ...]
    seed: int = 0
    replace: tuple[str, ...] = ()
    goal: float | None = None

    def studies(
        self,
        dtype: Literal["float32", "bfloat16"] = "float32",
        vocabulary: Path | None = None,
    ) -> list[StudyPlan]:
        """The studies in the order of the file, each with its own number of trials.

        Args:
            dtype: what models compute in.
            vocabulary: a text data set's subword vocabulary; None to have one trained.

        Raises:
            UsageError: a workload is unknown, a batch size does not fit one, a study is named
                twice, or what replaces data is wrong.
            DbtoolError: a folder cannot be read as the data set that it stands in for.
        """
        named = [
            (number, workload)
            for number, sweep in enumerate(self.sweeps, 1)
            for workload in self._named(number, sweep)
        ]
        data = self._data([workload for _, workload in named], vocabulary)
        studies: dict[str, StudyPlan] = {}
        numbers: dict[str, int] = {}
        for number, registered in named:
            workload, folder = data[registered.name]
            for study in self._studies(number, replace(workload, dtype=dtype), folder):
                if study.name in studies:
                    raise UsageError(
                        f"{_place(self.path, number)}: {study.name} was named before, in "
                        f"[[sweep]] {numbers[study.name]}; leave one of them out"
                    )
                studies[study.name] = study
                numbers[study.name] = number
        return list(studies.values())

    def _named(self, number: int, sweep: PlannedSweep) -> list[Workload]:
        """The workloads of the sweep of that number; those that it names twice are there twice."""
        with _blaming(_place(self.path, number)):
            return [each for pattern in sweep.workloads for each in find_workloads([pattern])]

    def _data(
        self, registered: Sequence[Workload], vocabulary: Path | None
    ) -> dict[str, tuple[Workload, Path | None]]:
        """By a registered workload's name, what is trained and the folder of its data."""
        workloads = {workload.name: workload for workload in registered}
        with _blaming(str(self.path)):
            found = replace_data(
                list(workloads.values()),
                [parse_replacement(text, self.path.parent) for text in self.replace],
                # A whole number would be another definition than the same one on the command line.
                goal=None if self.goal is None else float(self.goal),
                vocabulary=vocabulary,
            )
        return dict(zip(workloads, found.values(), strict=True))

    def _studies(self, number: int, workload: Workload, folder: Path | None) -> list[StudyPlan]:
        """The studies of a workload of the sweep of that number, counted from 1."""
        sweep = self.sweeps[number - 1]
        with _blaming(_place(self.path, number)):
            return plan_studies(
                [workload],
                release=self.release,
                batch_sizes=sweep.batch_sizes,
                steps=sweep.steps,
                budget_scale=sweep.budget,
                root_seed=self.seed,
                shared_batches=False,
                trials=sweep.trials,
                feasible=sweep.feasible,
                replacements={} if folder is None else {workload.name: folder},
                said_by="batch_sizes",
                search=sweep.search.rule(sweep.feasible),
            )


def _place(path: Path, number: int) -> str:
    """A table [[sweep]] as errors name it."""
    return f"{path}, [[sweep]] {number}"


@contextlib.contextmanager
def _blaming(place: str) -> Iterator[None]:
    """Has what is wrong begin with where the plan says it."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"{place}: {error}") from error


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
    if "goal" in values and "replace" not in values:
        raise UsageError(
            f"{path}: goal is for data that replace names: registered workloads have goals of "
            "their own; leave it out"
        )
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
    values = _values(place, table, _SWEEP, required="workloads")
    named = values.pop("search", None)
    words = {
        each.name: values.pop(each.name, None)
        for each in fields(SearchWords)
        if each.name != "search"
    }
    search = SearchWords(None if named is None else Search(named), **words)
    sweep = PlannedSweep(**values, search=search)
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


def _is_number(value: object) -> TypeGuard[int | float]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= sys.float_info.max


def _is_within(value: object, limits: Limits) -> bool:
    return _is_number(value) and limits.least <= value <= limits.most


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_text, value))


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
    "replace": _Rule('a list of SOURCE=NAME:FOLDER, such as ["mnist=mine:digits"]', _are_texts),
    "goal": _Rule("a number, such as 0.03", _is_number),
}
_SWEEP = {
    "workloads": _Rule('a list of names or patterns, such as ["mnist/fc_*"]', _are_texts),
    "batch_sizes": _Rule("a list of different whole numbers from 1, such as [1, 64]", _are_sizes),
    "trials": _whole(TRIALS, DEFAULT_TRIALS),
    "feasible": _whole(FEASIBLE, DEFAULT_TRIALS),
    "steps": _whole(STEPS, 1000),
    "budget": _Rule(
        f"a number from {BUDGET.least} to {BUDGET.most}, such as 0.5",
        lambda value: _is_within(value, BUDGET),
    ),
    "search": _Rule(f"one of {', '.join(Search)}", lambda value: value in list(Search)),
    "dropping": _Rule("a number, such as 4", _is_number),
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
