"""The index of a release: its workloads, studies and trials, derived from the shards' footers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import Struct

from dbtool.core.contract import shard_schema, sql_type
from dbtool.core.errors import DbtoolError
from dbtool.core.footer import (
    STATUSES,
    Footer,
    FooterError,
    Scalar,
    Study,
    Trial,
    Workload,
    as_json,
    check_workload,
)
from dbtool.core.manifest import MEASUREMENTS, ReleaseFile
from dbtool.core.parquet import value_type
from dbtool.core.shards import Shard

WORKLOADS, STUDIES, TRIALS = TABLES = ("workloads.parquet", "studies.parquet", "trials.parquet")
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


def column_types() -> dict[str, dict[str, str]]:
    """Return the columns of a release's tables with their types in DuckDB, by table."""
    schemas = {name.removesuffix(".parquet"): schema for name, schema in SCHEMAS.items()}
    schemas[MEASUREMENTS] = shard_schema()
    return {
        table: {field.name: sql_type(field.type) for field in schema}
        for table, schema in schemas.items()
    }


class ClashError(DbtoolError):
    """A shard that contradicts the rest of a release."""


class TablesError(DbtoolError):
    """Tables that are not a sound index; the message names the table, but not the release."""


class _Object(Struct):
    """A JSON object of anything."""


_OBJECTS = msgspec.json.Decoder(_Object)
_METAPARAMETERS = msgspec.json.Decoder(dict[str, Scalar])


class HeldTrial(NamedTuple):
    """Where a trial of a release comes from: its shard, and the digest of what was imported."""

    shard: str
    source: str | None


@dataclass
class Index:
    """The index of a release: workloads by name, studies by their key, and a row per trial.

    Threads may read it while one adds shards.
    """

    workloads: dict[str, Workload] = field(default_factory=dict)
    studies: dict[tuple[str, int], Study] = field(default_factory=dict)
    _listed: pa.Table = field(default_factory=SCHEMAS[TRIALS].empty_table)
    _added: list[pa.Table] = field(default_factory=list, init=False)
    # Of the studies that were asked about, by trial_id: with it a shard costs what it holds.
    _origins: dict[tuple[str, int], dict[int, HeldTrial]] = field(default_factory=dict, init=False)

    @classmethod
    def of(cls, shards: Iterable[Shard]) -> Self:
        """Return the index of some shards; raise a ClashError where two contradict each other."""
        index = cls()
        for shard in shards:
            if reason := index.clash(shard.footer):
                raise ClashError(f"{shard.path} contradicts the other shards: {reason}")
            index.add(shard)
        return index

    def add(self, shard: Shard) -> None:
        """Add a shard that does not clash with the index."""
        study, trials = shard.footer.study, shard.footer.trials
        new = {trial.trial_id: HeldTrial(shard.path, trial.source) for trial in trials}
        self._origins_of(study.key).update(new)
        self.workloads.setdefault(study.workload.workload, study.workload)
        self.studies.setdefault(study.key, study)
        self._added.append(_trials_of(shard))

    @property
    def trials(self) -> pa.Table:
        """The rows of all trials."""
        return pa.concat_tables([self._listed, *self._added])

    def trials_of(self, workload: str, batch_size: int) -> dict[int, dict[str, Any]]:
        """Return the rows of a study's trials, by trial_id."""
        if (workload, batch_size) not in self.studies:
            return {}
        of_study = _of_study(self.trials, workload, batch_size)
        rows = of_study.drop_columns(["producer"]).to_pylist()
        return {row["trial_id"]: row for row in rows}

    def origins(self, footer: Footer) -> dict[int, HeldTrial]:
        """Return where those of a footer's trials come from that are there, by trial_id."""
        held = self._origins_of(footer.study.key)
        ids = [trial.trial_id for trial in footer.trials if trial.trial_id in held]
        return {trial_id: held[trial_id] for trial_id in ids}

    def _origins_of(self, key: tuple[str, int]) -> dict[int, HeldTrial]:
        if key not in self._origins:
            listed = {}
            if key in self.studies:
                rows = _of_study(self._listed, *key)
                names = ("trial_id", *HeldTrial._fields)
                columns = (rows[name].to_pylist() for name in names)
                listed = {trial_id: HeldTrial(*of) for trial_id, *of in zip(*columns, strict=True)}
            self._origins.setdefault(key, listed)
        return self._origins[key]

    def clash(self, footer: Footer) -> str | None:
        """Return how a shard contradicts the index; None where it does not."""
        study = footer.study
        differing = differences(
            self.workloads.get(study.workload.workload), study.workload
        ) or differences(self.studies.get(study.key), study)
        if differing:
            return f"its study differs from the one that is there in {', '.join(differing)}"
        for trial_id, held in self.origins(footer).items():
            return f"its trial {trial_id} is already there from {held.shard}, whose contents differ"
        return None

    def tables(self) -> dict[str, pa.Table]:
        """Return the sorted tables of the index, by file name."""
        keys = [("workload", "ascending"), ("batch_size", "ascending"), ("trial_id", "ascending")]
        trials = self.trials.combine_chunks()
        rows = _summaries(self.workloads, self.studies, _counts(trials))
        tables = {name: pa.Table.from_pylist(rows[name], SCHEMAS[name]) for name in rows}
        return {**tables, TRIALS: trials.sort_by(keys)}

    @classmethod
    def from_tables(cls, tables: Mapping[str, pa.Table]) -> Self:
        """Return the index in tables that `check_tables` has accepted."""
        workloads = _workloads(tables[WORKLOADS].to_pylist())
        studies = _studies(tables[STUDIES].to_pylist(), workloads)
        return cls(workloads, studies, tables[TRIALS].cast(SCHEMAS[TRIALS]))


def check_tables(tables: Mapping[str, pa.Table], shards: Iterable[ReleaseFile]) -> None:
    """Check the values of tables with the columns of an index: each follows from the next.

    The trials follow from the shards that the manifest lists.

    Raises:
        TablesError: tables contradict each other or the manifest, or a value is out of contract.
    """
    trials = tables[TRIALS]
    _check_trials(trials)
    rows = {shard: measurements for shard, _, measurements in _grouped(trials, ["shard"])}
    if rows != {shard.path: shard.rows for shard in shards}:
        raise TablesError(f"{TRIALS} has other measurements than the manifest's list of shards")
    held = {name: tables[name].to_pylist() for name in (WORKLOADS, STUDIES)}
    name = WORKLOADS
    try:
        workloads = _workloads(held[WORKLOADS])
        for each in workloads.values():
            check_workload(each)
        name = STUDIES
        studies = _studies(held[STUDIES], workloads)
    except (msgspec.MsgspecError, FooterError, RecursionError) as error:
        raise TablesError(f"{name} is out of contract: {error}") from error
    counts = _counts(trials)
    if counts.keys() != studies.keys():
        raise TablesError(f"{STUDIES} lists other studies than those of {TRIALS}")
    for name, derived in _summaries(workloads, studies, counts).items():
        if held[name] != derived:
            raise TablesError(f"{name} does not follow from {TRIALS}")


def check_columns(name: str, schema: pa.Schema) -> None:
    """Raise a TablesError for columns that no index has; texts may be dictionaries."""
    if [(each.name, value_type(each)) for each in schema] != [
        (each.name, each.type) for each in SCHEMAS[name]
    ]:
        raise TablesError(f"{name} has other columns than an index")


def _check_trials(trials: pa.Table) -> None:
    """Check the values of trials that other code relies on."""
    if any(trials[name].null_count for name in _NEVER_NULL):
        raise TablesError(f"{TRIALS} has a null where every trial has a value")
    if not set(_texts(trials["status"])) <= set(STATUSES):
        raise TablesError(f"{TRIALS} has a trial of unknown status")
    for name in _NEVER_NEGATIVE:
        if len(trials) and np.from_dlpack(trials[name].combine_chunks()).min() < 0:
            raise TablesError(f"{TRIALS} has a negative number of {name}")
    for name, decoder in (("metaparameters", _METAPARAMETERS), ("producer", _OBJECTS)):
        if not _are_objects(_texts(trials[name]), decoder):
            raise TablesError(f"{TRIALS} has {name} that are not a JSON object of their kind")


def _texts(column: pa.ChunkedArray) -> list[str]:
    """Return the distinct texts of a column.

    Those of a dictionary need no `pyarrow.compute`, whose import takes as long as a small query.
    """
    texts: list[str] = column.combine_chunks().dictionary_encode().dictionary.to_pylist()
    return texts


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
        workload = workloads.get(row["workload"])
        given = _decoded(row, "search_space", "search") | {"workload": workload}
        studies[row["workload"], row["batch_size"]] = msgspec.convert(given, Study)
    return studies


def _trials_of(shard: Shard) -> pa.Table:
    """Return the rows of a shard's trials."""
    study, trials = shard.footer.study, shard.footer.trials
    producer = as_json(shard.footer.producer)
    rows = [
        {
            **_encoded(trial, "metaparameters"),
            **{name: _as_number(trial.metaparameters.get(name)) for name in OWN_COLUMN},
            "workload": study.workload.workload,
            "batch_size": study.batch_size,
            "shard": shard.path,
            "producer": producer,
        }
        for trial in trials
    ]
    return pa.Table.from_pylist(rows, SCHEMAS[TRIALS])


def _of_study(trials: pa.Table, workload: str, batch_size: int) -> pa.Table:
    import pyarrow.compute as pc

    key = (pc.field("workload") == workload) & (pc.field("batch_size") == batch_size)
    return trials.filter(key)


def _as_number(value: Scalar | None) -> float | None:
    """Return a metaparameter as a number; None where it is not a number."""
    try:
        return None if value is None else float(value)
    except ValueError:
        return None


def differences(
    held: Workload | Study | Trial | None, given: Workload | Study | Trial
) -> list[str]:
    """Return the names of the fields that differ between two workloads, studies or trials.

    For example, `goal (0.02, there 0.03)` for a short value and `search_space (momentum)` for an
    object: short values follow the name, and objects list the keys that differ. The workload of a
    study is not compared.
    """
    found: list[str] = []
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


def _summaries(
    workloads: Mapping[str, Workload],
    studies: Mapping[tuple[str, int], Study],
    counts: Mapping[tuple[str, int], Mapping[str, int]],
) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of the tables of workloads and studies, by file name."""
    totals = {name: dict.fromkeys(_TOTALS, 0) for name in workloads}
    for (name, _), count in counts.items():
        for total, each in zip(_TOTALS, (1, count["trials"], count["measurements"]), strict=True):
            totals[name][total] += each
    return {
        WORKLOADS: [
            {**_encoded(workload, "definition"), "maximize": workload.maximize, **totals[name]}
            for name, workload in sorted(workloads.items())
        ],
        STUDIES: [
            {**_encoded(study, "search_space", "search"), "workload": key[0], **counts[key]}
            for key, study in sorted(studies.items())
        ],
    }


def _grouped(trials: pa.Table, keys: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield each combination of the keys' values with its numbers of trials and measurements.

    NumPy does this because every command runs it: Polars, and Arrow's own grouping, which loads
    pandas, take longer to import than a small query runs.
    """
    values, shape, codes = [], [], np.zeros(len(trials), np.int64)
    for key in keys:
        column = trials[key].combine_chunks()
        if pa.types.is_integer(column.type):
            found, codes_of_key = np.unique(np.from_dlpack(column), return_inverse=True)
            values.append(found.tolist())
        else:
            column = column.dictionary_encode()
            codes_of_key = np.from_dlpack(column.indices)
            values.append(column.dictionary.to_pylist())
        shape.append(max(len(values[-1]), 1))
        codes = codes * shape[-1] + codes_of_key
    found, group_of = np.unique(codes, return_inverse=True)
    counts = np.bincount(group_of, minlength=len(found))
    sums = np.zeros(len(found), np.int64)
    np.add.at(sums, group_of, np.from_dlpack(trials["measurements"].combine_chunks()))
    groups = np.stack(np.unravel_index(found, shape), axis=1)
    for group, count, total in zip(groups.tolist(), counts.tolist(), sums.tolist(), strict=True):
        yield *(names[code] for names, code in zip(values, group, strict=True)), count, total


def _encoded(value: Workload | Study | Trial, *names: str) -> dict[str, Any]:
    """Return the fields of a value with some as JSON."""
    row = msgspec.structs.asdict(value)
    return row | {name: as_json(row[name]) for name in names if row[name] is not None}


def _decoded(row: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return a row with the JSON of some columns decoded."""
    decoded = {name: msgspec.json.decode(row[name]) for name in names if row[name] is not None}
    return row | decoded
