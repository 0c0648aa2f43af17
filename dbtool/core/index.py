"""The index of a release: its workloads, studies and trials, derived from the shards' footers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import Struct

from dbtool.core.errors import DbtoolError
from dbtool.core.footer import (
    STATUSES,
    Footer,
    FooterError,
    Scalar,
    Study,
    Workload,
    as_json,
    check_workload,
)
from dbtool.core.parquet import value_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dbtool.core.manifest import ReleaseFile
    from dbtool.core.shards import Shard

WORKLOADS, STUDIES, TRIALS = TABLES = ("workloads.parquet", "studies.parquet", "trials.parquet")
REPEATED = ["workload", "status", "shard", "producer"]
"""The columns of trials with few distinct values."""
OWN_COLUMN = (
    "learning_rate",
    "momentum",
    "end_learning_rate_factor",
    "learning_rate_decay_steps",
    "label_smoothing",
)
"""The metaparameters with their own column."""
_STATUSES = tuple(status.lower() for status in STATUSES)
_COUNTS = (*_STATUSES, "trials", "measurements")
_TOTALS = ("studies", "trials", "measurements")
_NEVER_NULL = (
    *("workload", "batch_size", "trial_id", "status", "steps", "metaparameters", "measurements"),
    *("shard", "producer"),
)
_NEVER_NEGATIVE = ("trial_id", "steps", "measurements")
SCHEMAS = {
    WORKLOADS: pa.schema(
        [
            ("workload", pa.string()),
            ("collection", pa.string()),
            ("dataset", pa.string()),
            ("model", pa.string()),
            ("optimizer", pa.string()),
            ("sparsity", pa.float64()),
            ("metric", pa.string()),
            ("goal", pa.float64()),
            ("maximize", pa.bool_()),
            ("goal_inclusive", pa.bool_()),
            ("train_examples", pa.int64()),
            ("definition", pa.string()),
            *[(name, pa.int64()) for name in _TOTALS],
        ]
    ),
    STUDIES: pa.schema(
        [
            ("workload", pa.string()),
            ("batch_size", pa.int32()),
            ("train_steps", pa.int64()),
            ("early_stopping", pa.bool_()),
            ("search_space", pa.string()),
            ("seed", pa.int64()),
            ("search", pa.string()),
            *[(name, pa.int64()) for name in _COUNTS],
        ]
    ),
    TRIALS: pa.schema(
        [
            ("workload", pa.string()),
            ("batch_size", pa.int32()),
            ("trial_id", pa.int32()),
            ("status", pa.string()),
            ("steps", pa.int64()),
            *[(name, pa.float64()) for name in OWN_COLUMN],
            ("metaparameters", pa.string()),
            ("seed", pa.int64()),
            ("measurements", pa.int64()),
            ("name", pa.string()),
            ("source", pa.string()),
            ("shard", pa.string()),
            ("producer", pa.string()),
        ]
    ),
}


class ClashError(DbtoolError):
    """A shard that contradicts the rest of a release."""


class TablesError(DbtoolError):
    """Tables that are not a sound index; the message names the table, but not the release."""


class _Object(Struct):
    """A JSON object of anything."""


_OBJECTS = msgspec.json.Decoder(_Object)
_METAPARAMETERS = msgspec.json.Decoder(dict[str, Scalar])


@dataclass
class Index:
    """The index of a release.

    Attributes:
        workloads: workloads by name.
        studies: studies by workload and batch size.
        trials: one row per trial.
    """

    workloads: dict[str, Workload] = field(default_factory=dict)
    studies: dict[tuple[str, int], Study] = field(default_factory=dict)
    trials: pa.Table = field(default_factory=SCHEMAS[TRIALS].empty_table)

    @classmethod
    def of(cls, shards: Iterable[Shard]) -> Index:
        """Return the index of some shards.

        Raises:
            ClashError: two shards contradict each other.
        """
        index = cls()
        for shard in shards:
            if reason := index.clash(shard.footer):
                raise ClashError(f"{shard.path} contradicts the other shards: {reason}")
            index.add(shard)
        return index

    def add(self, shard: Shard) -> None:
        """Add a shard that does not clash with the index."""
        study = shard.footer.study
        self.workloads.setdefault(study.workload.workload, study.workload)
        self.studies.setdefault((study.workload.workload, study.batch_size), study)
        self.trials = pa.concat_tables([self.trials, _trials_of(shard)])

    def trials_of(self, workload: str, batch_size: int) -> dict[int, dict[str, Any]]:
        """Return the rows of a study's trials, by trial_id."""
        if (workload, batch_size) not in self.studies:
            return {}
        import pyarrow.compute as pc

        of_study = (pc.field("workload") == workload) & (pc.field("batch_size") == batch_size)
        rows = self.trials.filter(of_study).drop_columns(["producer"]).to_pylist()
        return {row["trial_id"]: row for row in rows}

    def clash(self, footer: Footer) -> str | None:
        """Return how a shard contradicts the index; None where it does not."""
        study = footer.study
        name, size = study.workload.workload, study.batch_size
        differing = differences(self.workloads.get(name), study.workload)
        if not differing:
            differing = differences(self.studies.get((name, size)), study)
        if differing:
            return f"its study differs from the one that is there in {', '.join(differing)}"
        held = self.trials_of(name, size)
        for trial in footer.trials:
            if trial.trial_id in held:
                return (
                    f"its trial {trial.trial_id} is already there from "
                    f"{held[trial.trial_id]['shard']}, whose contents differ"
                )
        return None

    def tables(self) -> dict[str, pa.Table]:
        """Return the sorted tables of the index, by file name."""
        keys = [("workload", "ascending"), ("batch_size", "ascending"), ("trial_id", "ascending")]
        trials = self.trials.combine_chunks().sort_by(keys)
        counts = _counts(trials)
        studies = [_study_row(study, counts[key]) for key, study in sorted(self.studies.items())]
        totals = _totals(studies)
        workloads = [
            _workload_row(workload, totals[name])
            for name, workload in sorted(self.workloads.items())
        ]
        return {
            WORKLOADS: pa.Table.from_pylist(workloads, SCHEMAS[WORKLOADS]),
            STUDIES: pa.Table.from_pylist(studies, SCHEMAS[STUDIES]),
            TRIALS: trials,
        }

    @classmethod
    def from_tables(cls, tables: Mapping[str, pa.Table]) -> Index:
        """Return the index in tables that `check_tables` has accepted."""
        workloads = _workloads(tables[WORKLOADS].to_pylist())
        studies = _studies(tables[STUDIES].to_pylist(), workloads)
        return cls(workloads, studies, tables[TRIALS].cast(SCHEMAS[TRIALS]))


def check_tables(tables: Mapping[str, pa.Table], shards: Iterable[ReleaseFile]) -> None:
    """Check that tables, by file name, join without lost or surplus rows, and fit the shards.

    Args:
        tables: tables with the columns of an index, see `check_columns`.
        shards: the shards that the manifest lists.

    Raises:
        TablesError: tables contradict each other or the manifest, or a value is out of contract.
    """
    trials = tables[TRIALS]
    _check_trials(trials)
    rows = {shard: measurements for shard, _, measurements in _grouped(trials, ["shard"])}
    if rows != {shard.path: shard.rows for shard in shards}:
        raise TablesError(f"{TRIALS} has other measurements than the manifest's list of shards")
    studies = tables[STUDIES].to_pylist()
    counts = {(row["workload"], row["batch_size"]): _only(row, _COUNTS) for row in studies}
    if len(counts) != len(studies) or counts != _counts(trials):
        raise TablesError(f"{STUDIES} counts other trials than {TRIALS} has")
    workloads = tables[WORKLOADS].to_pylist()
    totals = {row["workload"]: _only(row, _TOTALS) for row in workloads}
    if len(totals) != len(workloads) or totals != _totals(studies):
        raise TablesError(f"{WORKLOADS} counts other studies than {STUDIES} has")
    name = WORKLOADS
    try:
        known = _workloads(workloads)
        for each in known.values():
            check_workload(each)
        name = STUDIES
        _studies(studies, known)
    except (msgspec.MsgspecError, FooterError, RecursionError) as error:
        raise TablesError(f"{name} is out of contract: {error}") from error


def check_columns(name: str, schema: pa.Schema) -> None:
    """Check the columns of the table of that name; texts may be dictionaries.

    Raises:
        TablesError: they are not those of an index.
    """
    if [(each.name, value_type(each)) for each in schema] != [
        (each.name, each.type) for each in SCHEMAS[name]
    ]:
        raise TablesError(f"{name} has other columns than an index")


def _check_trials(trials: pa.Table) -> None:
    """Check the values of trials that other code relies on."""
    if any(trials[name].null_count for name in _NEVER_NULL):
        raise TablesError(f"{TRIALS} has a null where every trial has a value")
    if not set(trials["status"].unique().to_pylist()) <= set(STATUSES):
        raise TablesError(f"{TRIALS} has a trial of unknown status")
    for name in _NEVER_NEGATIVE:
        if len(trials) and np.from_dlpack(trials[name].combine_chunks()).min() < 0:
            raise TablesError(f"{TRIALS} has a negative number of {name}")
    for name in ("metaparameters", "producer"):
        column = trials[name]
        texts = column.unique() if pa.types.is_dictionary(column.type) else column
        if not _are_objects(texts.to_pylist(), _METAPARAMETERS if name[0] == "m" else _OBJECTS):
            raise TablesError(f"{TRIALS} has {name} that are not a JSON object of their kind")


def _are_objects(texts: list[str], decoder: msgspec.json.Decoder[Any]) -> bool:
    """Whether each text is a JSON object that a decoder accepts.

    All are checked at once, since there may be many. Objects without nested values and nulls need
    no decoder, which takes six times as long as checking the form.
    """
    lines = "\n".join(texts)
    is_flat = lines.count("{") == len(texts) and "[" not in lines and "null" not in lines
    try:
        found = (_OBJECTS if is_flat else decoder).decode_lines(lines)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return False
    return len(found) == len(texts) == lines.count("\n") + bool(texts)


def _workloads(rows: Iterable[dict[str, Any]]) -> dict[str, Workload]:
    """Return the workloads of a table's rows, by name."""
    return {row["workload"]: msgspec.convert(_decoded(row, "definition"), Workload) for row in rows}


def _studies(
    rows: Iterable[dict[str, Any]], workloads: Mapping[str, Workload]
) -> dict[tuple[str, int], Study]:
    """Return the studies of a table's rows, by workload and batch size."""
    studies = {}
    for row in rows:
        key = row["workload"], row["batch_size"]
        given = _decoded(row, "search_space", "search") | {"workload": workloads[key[0]]}
        studies[key] = msgspec.convert(given, Study)
    return studies


def _trials_of(shard: Shard) -> pa.Table:
    """Return the rows of a shard's trials."""
    study, trials = shard.footer.study, shard.footer.trials
    producer = as_json(shard.footer.producer)
    rows = [
        {
            "workload": study.workload.workload,
            "batch_size": study.batch_size,
            "trial_id": trial.trial_id,
            "status": trial.status,
            "steps": trial.steps,
            **{name: _as_number(trial.metaparameters.get(name)) for name in OWN_COLUMN},
            "metaparameters": as_json(trial.metaparameters),
            "seed": trial.seed,
            "measurements": trial.measurements,
            "name": trial.name,
            "source": trial.source,
            "shard": shard.path,
            "producer": producer,
        }
        for trial in trials
    ]
    return pa.Table.from_pylist(rows, SCHEMAS[TRIALS])


def _as_number(value: Any) -> float | None:
    """Return a metaparameter as a number; None where it is not a number."""
    try:
        return None if value is None else float(value)
    except ValueError:
        return None


def differences(held: Workload | Study | None, given: Workload | Study) -> list[str]:
    """Return the names of the fields that differ between two workloads or two studies.

    For example, `goal (0.02, there 0.03)` for a short value and `search_space (momentum)` for an
    object: short values follow the name, and objects list the keys that differ. The workload of a
    study is not compared.
    """
    found = []
    for name in given.__struct_fields__ if held is not None else ():
        old, new = getattr(held, name), getattr(given, name)
        if old == new or isinstance(new, Workload):
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            keys = [key for key in sorted({*old, *new}) if old.get(key) != new.get(key)]
            found += [f"{name} ({key})" for key in keys]
        elif isinstance(old, dict) or isinstance(new, dict):
            found.append(name)
        else:
            found.append(f"{name} ({as_json(new)}, there {as_json(old)})")
    return found


def _counts(trials: pa.Table) -> dict[tuple[str, int], dict[str, int]]:
    """Count the trials of each status and the measurements, by workload and batch size."""
    keys = ["workload", "batch_size", "status"]
    counts: dict[tuple[str, int], dict[str, int]] = {}
    for workload, batch_size, status, count, measurements in _grouped(trials, keys):
        of_study = counts.setdefault((workload, batch_size), dict.fromkeys(_COUNTS, 0))
        of_study[status.lower()] += count
        of_study["trials"] += count
        of_study["measurements"] += measurements
    return counts


def _totals(studies: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Count the studies, trials and measurements, by workload."""
    totals: dict[str, dict[str, int]] = {}
    for row in studies:
        of_workload = totals.setdefault(row["workload"], dict.fromkeys(_TOTALS, 0))
        of_workload["studies"] += 1
        of_workload["trials"] += row["trials"]
        of_workload["measurements"] += row["measurements"]
    return totals


def _grouped(trials: pa.Table, keys: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield each combination of the keys' values with its numbers of trials and measurements.

    NumPy does this because every command runs it: Polars, and Arrow's own grouping, which loads
    pandas, take longer to import than a small query runs.
    """
    columns = [trials[key].combine_chunks().dictionary_encode() for key in keys]
    values = [column.dictionary.to_pylist() for column in columns]
    shape = [max(len(each), 1) for each in values]
    codes = np.zeros(len(trials), np.int64)
    for column, size in zip(columns, shape, strict=True):
        codes = codes * size + np.from_dlpack(column.indices).astype(np.int64)
    found, group_of = np.unique(codes, return_inverse=True)
    counts = np.bincount(group_of, minlength=len(found))
    sums = np.zeros(len(found), np.int64)
    np.add.at(sums, group_of, np.from_dlpack(trials["measurements"].combine_chunks()))
    groups = np.stack(np.unravel_index(found, shape), axis=1)
    for group, count, total in zip(groups.tolist(), counts.tolist(), sums.tolist(), strict=True):
        yield *(names[code] for names, code in zip(values, group, strict=True)), count, total


def _only(row: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: row[name] for name in names}


def _study_row(study: Study, counts: Mapping[str, int]) -> dict[str, Any]:
    return {
        **msgspec.structs.asdict(study),
        "workload": study.workload.workload,
        "search_space": as_json(study.search_space),
        "search": None if study.search is None else as_json(study.search),
        **counts,
    }


def _workload_row(workload: Workload, totals: Mapping[str, int]) -> dict[str, Any]:
    definition = workload.definition
    return {
        **msgspec.structs.asdict(workload),
        "maximize": workload.maximize,
        "definition": None if definition is None else as_json(definition),
        **totals,
    }


def _decoded(row: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return a row with the JSON of some columns decoded."""
    decoded = {name: msgspec.json.decode(row[name]) for name in names if row[name] is not None}
    return row | decoded
