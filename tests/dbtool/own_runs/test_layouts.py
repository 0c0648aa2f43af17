"""The same runs in every layout are the same runs, and files of any bytes raise nothing else."""

import contextlib
import csv
import io
import json
import math
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dbtool.core.errors import DbtoolError
from dbtool.core.index import Index
from dbtool.sources.numbers import same
from dbtool.sources.tables.files import NamePattern
from dbtool.sources.tables.mapping import read_mapping
from dbtool.sources.tables.source import RunSource
from dbtool.sources.tables.studies import shards_of
from tests.support.own_runs import TABLES, mapping_text, read

# Runs: name -> step -> metric -> value.
Runs: TypeAlias = "dict[str, dict[int, dict[str, float]]]"
FUZZ = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
# Blanks around names are trimmed in CSV, and 1.0 is 1.
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters=" \t.\0")
NAMES = st.text(CHARACTERS, min_size=1, max_size=8)
NAMES_OF_METRICS = ["error", "loss", "norm", "train/grad ü"]
METRICS = st.sampled_from(NAMES_OF_METRICS)
RUNS = st.dictionaries(
    NAMES,
    st.dictionaries(
        st.integers(0, 2**63 - 1),
        # NaN beside numbers would be a missing value in wide files.
        st.dictionaries(METRICS, st.floats(0, 1), min_size=1)
        | st.dictionaries(METRICS, st.just(math.nan), min_size=1),
        min_size=1,
        max_size=4,
    ),
    min_size=1,
    max_size=4,
).filter(lambda runs: len(set(map(same, runs))) == len(runs))
ANY_ORDER = {"run": '"run"', "lost_branches": '"keep"', "float32": "false"}
LONG = {"metric": '"tag"', "value": '"value"', **ANY_ORDER}
CHANGED: Any = {
    # Runs of one step are refused where there is one.
    "workload": {"goal": None},
    "metrics": {"val_classification_error": '"error"', "batch_cross_entropy_error": '"loss"'},
}
COLUMNS = {"error": "val_classification_error", "loss": "batch_cross_entropy_error"}


def _wide(runs: Runs) -> list[dict[str, Any]]:
    return [
        {"run": run, "step": step, **values}
        for run, steps in runs.items()
        for step, values in steps.items()
    ]


def _wide_csv(runs: Runs) -> str:
    names = ["run", "step", *NAMES_OF_METRICS]
    return _csv([names, *([row.get(name, "") for name in names] for row in _wide(runs))])


def _long_csv(runs: Runs) -> str:
    rows = [
        [run, step, name, value]
        for run, steps in runs.items()
        for step, values in reversed(steps.items())
        for name, value in {**values, "without a value": ""}.items()
    ]
    return _csv([["run", "step", "tag", "value"], *rows])


def _csv(rows: list[list[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()


def _wide_json(runs: Runs) -> str:
    return "".join(json.dumps(row) + "\n" for row in _wide(runs))


def _wide_parquet(runs: Runs) -> bytes:
    file, rows = io.BytesIO(), _wide(runs)
    names = dict.fromkeys(name for row in rows for name in row)
    pq.write_table(pa.table({name: [row.get(name) for row in rows] for name in names}), file)
    return file.getvalue()


def _table(source: RunSource) -> pa.Table:
    """The rows that would be stored."""
    [(_, [table])] = shards_of(source.by_study, source.mapping, Index())
    return table


def _rows(table: pa.Table) -> list[Any]:
    """Trial, step, and the metrics that are there, by their names."""
    rows = []
    for row in table.to_pylist():
        key = row.pop("trial_id"), row.pop("step")
        # JSON lacks nan, which is a word there.
        others = json.loads(row.pop("other_metrics", None) or "{}")
        there = {name: float(each) for name, each in (row | others).items() if each is not None}
        rows.append((key, sorted(there.items())))
    return rows


@pytest.mark.slow
@FUZZ
@given(RUNS)
def test_layouts_agree(tmp_path, runs):
    # A run without a value of the goal's metric would be refused in files that have none at all.
    first = next(iter(next(iter(runs.values())).values()))
    first.clear()
    first |= {"error": 0.5, "loss": 0.25}
    sources = [
        read(tmp_path, _wide_csv(runs), "csv", files=ANY_ORDER, **CHANGED),
        read(tmp_path, _wide_json(runs), "jsonl", files=ANY_ORDER, **CHANGED),
        read(tmp_path, _long_csv(runs), "csv", files=LONG, **CHANGED),
        read(tmp_path, _wide_parquet(runs), "parquet", files=ANY_ORDER, **CHANGED),
    ]
    expected = [
        ((trial_id, step), sorted((COLUMNS.get(name, name), x) for name, x in values.items()))
        for trial_id, steps in enumerate(runs.values())
        for step, values in sorted(steps.items())
    ]
    for each in sources:
        assert [run.name for run in each.runs] == list(runs)
        assert repr(_rows(_table(each))) == repr(expected)


TEXTS = st.sampled_from(
    ["a", "b", "", "0", "1", "10", "0.5", "-1", "nan", "inf", "1e400", "1_0", "x", " ", "½", "\x00",
     "9223372036854775808", "1e18", '"', ",", "\n"]
)  # fmt: skip


@FUZZ
@given(st.binary() | st.lists(st.lists(TEXTS, max_size=5)).map(lambda r: _csv(r).encode()))
@example(b"run,step,error\n\na,0,0.5\r\n")
@example(b"run,step,error\ra,0,0.5\r")
@example(b'run,step,error\n"a\x00",0,0.5')
def test_csv_of_any_bytes(tmp_path, body):
    for head in (b"", b"run,step,error\n"):
        _read_or_refuse(tmp_path, head + body, "csv")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["run", "step", "error", "x", ""]), inner)
    ),
    max_leaves=8,
)


@FUZZ
@given(st.binary() | st.lists(JSON).map(lambda rows: "\n".join(map(json.dumps, rows)).encode()))
def test_json_lines_of_any_bytes(tmp_path, body):
    _read_or_refuse(tmp_path, body, "jsonl")


def _read_or_refuse(folder: Path, body: bytes, kind: Any) -> None:
    """Asserts that what is read is in contract; what is refused is told in our own words."""
    try:
        source = read(folder, body, kind, files={"run": '"run"'})
    except DbtoolError:
        return
    if not source.runs:
        return
    table = _table(source)
    assert table["step"].to_pylist() == sorted(table["step"].to_pylist()) or len(source.runs) > 1
    for value in table["val_classification_error"].to_pylist():
        assert value is None or not math.isfinite(value) or 0 <= value <= 1


TOML = st.recursive(
    st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["step", "COMPLETE"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["column", "values", "default", "times", "a b"]), inner)
    ),
    max_leaves=5,
)
NAMES_OF_TABLES = ["top", *filter(None, TABLES)]
KEYS = [key for lines in TABLES.values() for key in lines]
KEYS += ["metric", "name", "ignore", "repeated_steps", "file", "maximize", "status", "momentum"]


def _toml(value: Any) -> str:
    """A value as TOML, which the standard library reads alone."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value)


@FUZZ
@given(st.sampled_from(NAMES_OF_TABLES), st.sampled_from(KEYS), TOML)
def test_mappings_with_any_value(tmp_path, table, key, value):
    path = tmp_path / "mapping.toml"
    path.write_text(mapping_text(**{table: {key: _toml(value)}}), encoding="utf-8")
    with contextlib.suppress(DbtoolError):
        read_mapping(path)


@FUZZ
@given(st.binary())
def test_mappings_of_any_bytes(tmp_path, body):
    path = tmp_path / "mapping.toml"
    path.write_bytes(body)
    with pytest.raises(DbtoolError):
        read_mapping(path)


PARTS = st.text(st.characters(exclude_characters="/{}", exclude_categories=["Cs"]), min_size=1)


@given(PARTS, PARTS, st.text("-_+", min_size=1))
def test_file_names_give_back_their_parts(run, tag, between):
    if set(between) & set(run + tag):
        return
    pattern = NamePattern(f"{{run}}{between}{{tag}}.csv")
    found = pattern.read(f"some/folder/{run}{between}{tag}.csv")
    assert found == {"run": run, "tag": tag}


def test_a_name_has_one_reading_and_is_read_in_linear_time():
    pattern = NamePattern("{a}-{b}-{c}-{d}-{e}-{f}-{run}x.csv")
    # Python's own expressions would try a tenth of 10^12 ways.
    assert pattern.read("-" * 1_000 + ".csv") is None
    assert pattern.read("r/1-2-3-4-5-6-7-8x.csv") == dict(
        zip(["a", "b", "c", "d", "e", "f", "run"], ["1-2", *"345678"], strict=True)
    )


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"metrics": {"val_cross_entropy_error": '"error"'}}, "metrics names a column twice"),
        ({"workload": {"metric": '"bleu"'}},
         'workload.metric is "bleu", and should be a name that says what it is measured on, such'),
        ({"metrics": {"step": '"update"'}}, "metrics.step: the database has another step"),
        ({"workload": {"train_examples": "1.5"}},
         "workload.train_examples is 1.5, and should be a whole number from 0, or a column"),
        ({"workload": {"model": '"a/b"'}}, 'workload.model is "a/b", and should be part of a work'),
        ({"files": {"metric": '"tag"'}}, "files: metric and value go together"),
        *(({"files": {"name": f'"{pattern}"'}}, f"files: name {pattern!r} is not a pattern")
          for pattern in ("run.csv", "{run}{tag}.csv", "{run}-{run}.csv", "{1}.csv", "{run")),
        ({"metaparameters": {"momentum": '"lr"'}},
         "metaparameters.momentum should be a finite number, or a column"),
    ],
)  # fmt: skip
def test_sentences_about_mappings(tmp_path, changes, sentence):
    path = tmp_path / "mapping.toml"
    path.write_text(mapping_text(**changes))
    with pytest.raises(DbtoolError) as error:
        read_mapping(path)
    assert str(error.value).startswith(f"the mapping {path}: {sentence}")
    assert error.value.exit_code == 2
