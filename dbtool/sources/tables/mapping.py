"""Mapping files for `dbtool ingest`: TOML that describes the columns of a tool's files.

docs/your_own_runs.md says what each key means.
"""

import re
import sys
from collections.abc import Mapping
from fnmatch import translate
from functools import cached_property
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    TypeAlias,
    TypeVar,
    get_args,
)

import msgspec
from msgspec import Meta, Struct

from dbtool.core.checks import InvalidError, convert, read_toml
from dbtool.core.contract import KEYS, OTHER_METRICS, SPLITS
from dbtool.core.errors import UsageError
from dbtool.core.footer import BatchSize, Count, SmallCount, Sparsity, Status
from dbtool.core.index import OWN_COLUMN
from dbtool.sources.numbers import TRANSFORMS, whole_number
from dbtool.sources.tables.files import NamePattern
from dbtool.store.table_files import shown
from dbtool.store.texts import EMPTY

T = TypeVar("T")
Tables: TypeAlias = Mapping[str, Any]
_Text = Annotated[str, Meta(pattern=r"[^\s?]|\S.", description="text that is not empty")]
# They become folders, and parts of a workload's name.
_Part = Annotated[
    str,
    Meta(
        pattern=r"\A(?![.\s])[^/\\*?\[\]\x00-\x1f\x7f-\x9f]{1,100}(?<!\s)\Z",
        description=r"part of a workload's name, without any of / \ * ? [ ]",
    ),
]
_Times = Annotated[
    int,
    Meta(ge=1, le=2**63 - 1, description="a whole number from 1 (for a part of one give divide)"),
]
_Divide = Annotated[int, Meta(ge=1, le=2**63 - 1, description="a whole number from 1")]
_Seed = Annotated[
    int,
    Meta(
        ge=-(2**63), le=2**63 - 1, description=f"a whole number from {-(2**63):,} to {2**63 - 1:,}"
    ),
]
_Number = Annotated[
    float, Meta(ge=-sys.float_info.max, le=sys.float_info.max, description="a finite number")
]
_Setting = Annotated[_Number | bool | _Text, Meta(description="a finite number, a truth or text")]
# Without bounds of their own, which msgspec confuses with those of the types beside them.
_Columns: TypeAlias = str | Annotated[list[str], Meta(description="a list of columns")]
_Metric = Annotated[
    str,
    Meta(
        pattern=rf"\A({'|'.join(SPLITS)})_.",
        description="a name that says what it is measured on, such as val_bleu, which [metrics] "
        "may give to a column",
    ),
]
_Status = Annotated[
    Status,
    Meta(
        description="COMPLETE, INCOMPLETE or INFEASIBLE, or stand for one of them as in "
        'values = { finished = "COMPLETE" }'
    ),
]
if TYPE_CHECKING:
    _Transform = str
else:
    _Transform = Literal[tuple(TRANSFORMS)]


def listed(names: str | list[str]) -> list[str]:
    """Return one name or several as a list."""
    return [names] if isinstance(names, str) else names


class Column(Struct, Generic[T], frozen=True, forbid_unknown_fields=True):
    """A property that is read from a column, of the table of runs or of the rows."""

    column: _Text
    values: dict[str, T] | None = None
    default: T | None = None


_Property: TypeAlias = T | Annotated[Column[T], Meta(description="a column as in { column = … }")]


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    """A table of a mapping."""


class StepColumn(_Table, frozen=True):
    """A column that counts something other than updates, such as epochs or tokens."""

    column: _Text
    times: _Property[_Times] = 1
    divide: _Property[_Divide] = 1
    plus: SmallCount = 0

    def __str__(self) -> str:
        given = {" times": self.times, " divided by": self.divide}
        by = {key: each.column if isinstance(each, Column) else each for key, each in given.items()}
        return "".join(f"{key} {each}" for key, each in by.items() if each != 1)

    @staticmethod
    def step(text: str, plus: int, times: int, divide: int) -> int | None:
        """Return the step that a text in the column stands for; None for other texts."""
        count = whole_number(text, times)
        if count is None or (count + plus * times) % divide:
            return None
        step = (count + plus * times) // divide
        return step if 0 <= step < 2**63 else None


class FilesTable(_Table, frozen=True):
    """The layout of the files, in the wide format unless it has a metric and a value."""

    step: _Text | Annotated[StepColumn, Meta(description="{ column = …, times = … }")]
    run: _Columns | None = None
    beside: list[
        Annotated[str, Meta(pattern=r"\.(json|ya?ml)\Z", description="a .json or .yaml file")]
    ] = []
    metric: _Text | None = None
    value: _Text | None = None
    name: str | None = None
    ignore: list[str] = []
    line: _Columns | None = None
    repeated_steps: Literal["refuse", "first", "last"] = "refuse"
    empty: tuple[str, ...] = EMPTY
    lost_branches: Literal["drop", "keep"] = "drop"
    float32: bool | None = None
    sampled: bool | None = None

    @property
    def steps(self) -> StepColumn:
        """Return the column of the step, and what it counts."""
        return StepColumn(self.step) if isinstance(self.step, str) else self.step

    @property
    def pattern(self) -> NamePattern | None:
        """Return the pattern that the files' paths match; None where their names are not used."""
        return None if self.name is None else NamePattern(self.name)

    @property
    def parts(self) -> list[str]:
        """List the columns in the files' paths."""
        return self.pattern.parts if self.pattern else []

    @property
    def run_columns(self) -> list[str]:
        """List the columns that name the run; empty where the file's name does."""
        names = listed(self.run or [name for name in self.parts if name == "run"])
        return list(dict.fromkeys(names))

    def __post_init__(self) -> None:
        if (self.metric is None) != (self.value is None):
            raise ValueError("metric and value go together: a long table has both, a wide none")
        try:
            NamePattern(self.name or "{run}")
        except ValueError as error:
            raise ValueError(f"name {shown(self.name or '')} {error}") from error


class RunsTable(_Table, frozen=True):
    """The table of runs: its file, and the columns that name the run."""

    file: _Text
    run: _Columns = "run"


class WorkloadTable(_Table, frozen=True, kw_only=True):
    """What was trained: see `dbtool.core.footer.Workload`."""

    collection: _Property[_Part] | None = None
    dataset: _Property[_Part]
    model: _Property[_Part]
    optimizer: _Property[_Part]
    sparsity: _Property[Sparsity] | None = None
    metric: _Property[_Metric]
    goal: _Property[_Number] | None = None
    goal_inclusive: _Property[bool] | None = None
    train_examples: _Property[Count] | None = None


class StudyTable(_Table, frozen=True):
    """The studies' settings: see `dbtool.core.footer.Study`."""

    batch_size: _Property[BatchSize]
    train_steps: _Property[Count] | None = None
    early_stopping: _Property[bool] | None = None


class TrialTable(_Table, frozen=True):
    """How the runs ended: see `dbtool.core.footer.Trial`."""

    trial_id: _Property[SmallCount] | None = None
    status: _Property[_Status] | None = None
    seed: _Property[_Seed] | None = None


class MetricColumn(_Table, frozen=True):
    """What a metric is read from: a column, or a metric of the long format."""

    column: _Text
    transform: _Transform | None = None
    plus: SmallCount | None = None


class Property(NamedTuple):
    """A property of runs: its value, or the column to read it from, and its type with bounds."""

    table: str
    name: str
    value: Any
    kind: Any

    @property
    def column(self) -> str | None:
        """Return the column that it is read from; None where all runs have the same value."""
        return self.value.column if isinstance(self.value, Column) else None


class RunMapping(_Table, frozen=True, kw_only=True, dict=True):
    """The contents of a mapping file."""

    release: _Text | None = None
    title: _Text | None = None
    licence: _Text | None = None
    citation: _Text | None = None
    files: FilesTable
    runs: RunsTable | None = None
    workload: WorkloadTable
    study: StudyTable
    trial: TrialTable = TrialTable()
    metaparameters: dict[str, _Property[_Setting]] = {}
    search_space: dict[str, dict[str, str | int | _Number | list[str | int | _Number]]] = {}
    metrics: dict[_Text, _Text | Annotated[MetricColumn, Meta(description="{ column = … }")]] = {}

    def __post_init__(self) -> None:
        if len(self.metric_of) < len(self.metrics):
            raise ValueError("metrics names a column twice")
        if taken := sorted(self.metrics.keys() & {*KEYS, OTHER_METRICS}):
            raise ValueError(f"metrics.{taken[0]}: the database has another {taken[0]}: rename it")
        for name in self.metaparameters.keys() & OWN_COLUMN:
            if isinstance(self.metaparameters[name], str | bool):
                raise ValueError(f"metaparameters.{name} should be a finite number, or a column")  # noqa: TRY004

    @cached_property
    def metric_of(self) -> dict[str, tuple[str, MetricColumn]]:
        """Map each column, or metric of the long format, to the metric that it becomes, and how."""
        sources = (
            (name, MetricColumn(source) if isinstance(source, str) else source)
            for name, source in self.metrics.items()
        )
        return {source.column: (name, source) for name, source in sources}

    @cached_property
    def properties(self) -> tuple[Property, ...]:
        """Return the properties of runs that the mapping sets."""
        found = [
            Property(name, field.name, value, get_args(field.type)[0])
            for name in ("workload", "study", "trial")
            for table in [getattr(self, name)]
            for field in msgspec.structs.fields(table)
            if (value := getattr(table, field.name)) is not None
        ]
        found += [
            Property("metaparameters", name, value, _Number if name in OWN_COLUMN else _Setting)
            for name, value in self.metaparameters.items()
        ]
        steps = self.files.steps
        found.append(Property("files.step", "times", steps.times, _Times))
        found.append(Property("files.step", "divide", steps.divide, _Divide))
        return tuple(found)

    @cached_property
    def property_columns(self) -> frozenset[str]:
        """Return the columns from which properties of runs are read."""
        return frozenset(each.column for each in self.properties if each.column is not None)

    @cached_property
    def no_metrics(self) -> frozenset[str | None]:
        """Return the columns that are not metrics, since they have another role."""
        files = self.files
        structure = {files.steps.column, *files.run_columns, *files.parts}
        return self.property_columns | structure | ({files.metric, files.value} - {None})

    def ignores(self, name: str) -> bool:
        """Return whether a column or metric is ignored."""
        return self._ignored.match(name) is not None

    @cached_property
    def _ignored(self) -> re.Pattern[str]:
        # One expression, since thousands of names would be looked for one by one.
        return re.compile("|".join(map(translate, self.files.ignore)) or r"(?!)")


def read_mapping(path: Path, given: Tables | None = None) -> RunMapping:
    """Read a mapping file, with values by table that replace the file's.

    Raises:
        UsageError: the file cannot be read, is not valid TOML, has invalid values or no release.
    """
    mapping = mapping_of(merged(read_toml(path, dict[str, Any], "mapping"), given or {}), path)
    if mapping.release is None:
        raise UsageError(f"the mapping {path} names no release: give one with --release")
    return mapping


def merged(tables: Tables, given: Tables) -> dict[str, Any]:
    """Return the tables of a mapping, with values by table in the place of its own."""
    found = dict(tables)
    for name, values in given.items():
        both = isinstance(values, dict) and isinstance(found.get(name), dict)
        found[name] = {**found[name], **values} if both else values
    return found


def _whole(value: Any) -> Any:
    """Return a value of TOML with whole numbers where floats have no decimals, as 1e9 has none."""
    if isinstance(value, dict):
        return {name: _whole(each) for name, each in value.items()}
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**63
    return int(value) if is_whole else value


def mapping_of(tables: Tables, path: Path | None) -> RunMapping:
    """Return the tables of a mapping as one; the path is that of its file.

    Raises:
        UsageError: it has invalid values.
    """
    # Ranges stay as they are written, since studies are compared by them.
    whole = {name: t if name == "search_space" else _whole(t) for name, t in tables.items()}
    try:
        mapping = convert(whole, RunMapping)
    except InvalidError as error:
        name = "the mapping" if path is None else f"the mapping {path}"
        raise UsageError(*(f"{name}: {fault}" for fault in error.args)) from error
    if mapping.runs is None or path is None:
        return mapping
    runs = msgspec.structs.replace(mapping.runs, file=str(path.parent / mapping.runs.file))
    return msgspec.structs.replace(mapping, runs=runs)
