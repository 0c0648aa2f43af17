"""Rows in each format come back as the same values, whatever they are."""

import csv
import io
import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dbtool.cli import output
from dbtool.cli.options import Format
from dbtool.cli.output import print_rows
from dbtool.store.questions import Question

Printed: TypeAlias = "Callable[[Sequence[tuple[Any, ...]], Format], bytes]"
EVERY = """
SELECT
    1 AS whole,
    2 AS whole,
    'a|b,"c"' || chr(10) || 'é' AS text,
    '{"scale": [1, 2.50]}'::JSON AS space,
    [0.1::FLOAT, NULL] AS items,
    {'x': 'nan'::FLOAT, 'y y': [MAP {'k': 1}]} AS record,
    NULL::STRUCT(x INTEGER) AS no_record,
    row(1, 'a') AS pair,
    [row(1, NULL)] AS pairs,
    MAP {'k': [1.5]} AS each,
    true AS flag,
    DATE '2019-07-01' AS day,
    1.50::DECIMAL(5, 2) AS decimal,
    'infinity'::DATE AS never,
    '290308-12-22 (BC)'::TIMESTAMP AS long_ago,
    170141183460469231731687303715884105727::HUGEINT AS huge,
    chr(27) || '[31m' AS red,
    TIMESTAMPTZ '2019-07-01 12:00:00+00' AS zoned
"""
AS_JSON = {
    "whole": 1, "whole_1": 2, "text": 'a|b,"c"\né', "space": {"scale": [1, 2.5]},
    "items": [0.1, None], "record": {"x": None, "y y": [{"k": 1}]}, "no_record": None,
    "pair": [1, "a"], "pairs": [[1, None]], "each": {"k": [1.5]},
    "flag": True, "day": "2019-07-01", "decimal": 1.5,
}  # fmt: skip
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
MAPS = st.dictionaries(TEXT, st.none() | st.floats(width=64), max_size=3)
ROWS = st.lists(
    st.tuples(
        st.none() | st.integers(-(2**63), 2**63 - 1),
        st.none() | st.floats(width=64),
        st.none() | st.floats(width=32),
        st.none() | TEXT,
        MAPS.map(lambda each: [*each.items()]),
    ),
    max_size=8,
)
_TYPES = {"whole": pa.int64(), "double": pa.float64(), "single": pa.float32(), "text": pa.string()}
SCHEMA = pa.schema({**_TYPES, "map": pa.map_(pa.string(), pa.float64())})


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        yield opened


@pytest.fixture
def printed(connection, capsysbinary) -> Printed:
    """What is printed for rows of SCHEMA."""

    def of(rows, output_format):
        columns = zip(*rows, strict=True) if rows else [[] for _ in SCHEMA]
        arrays = [pa.array(values, each.type) for each, values in zip(SCHEMA, columns, strict=True)]
        capsysbinary.readouterr()
        connection.register("given", pa.table(arrays, schema=SCHEMA))
        print_rows(connection, Question("FROM given", {}), output_format)
        return capsysbinary.readouterr().out

    return of


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _single(text: float | None) -> float | None:
    """A number as 32 bits hold it."""
    return None if text is None else pa.scalar(text, pa.float32()).as_py()


def _number(cell: str) -> float | None:
    return float(cell) if cell else None


def _strict(text: str) -> Any:
    """JSON that holds no NaN or Infinity, which only some parsers take."""

    def refuse(word: str) -> None:
        raise AssertionError(word)

    return json.loads(text, parse_constant=refuse)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(rows=[(1, math.nan, 0.5, "é", [("a", 1.0)]), (None, math.inf, None, None, [])])
@given(rows=ROWS)
def test_rows_come_back(rows: list[Any], printed: Printed) -> None:
    for binary, read in (
        (Format.PARQUET, pq.read_table),
        (Format.ARROW, lambda source: pa.ipc.open_stream(source).read_all()),
    ):
        table = read(pa.BufferReader(printed(rows, binary)))
        expected = [dict(zip(SCHEMA.names, row, strict=True)) for row in rows]
        assert str(table.to_pylist()) == str(expected)
    lines = printed(rows, Format.JSONL).decode().split("\n")
    assert lines.pop() == ""
    parsed = [_strict(line) for line in lines]
    assert parsed == _strict(printed(rows, Format.JSON).decode())
    header, *cells = csv.reader(io.StringIO(printed(rows, Format.CSV).decode(), newline=""))
    assert header == SCHEMA.names
    for row, cell, (whole, double, single, text, items) in zip(parsed, cells, rows, strict=True):
        mapping = {key: _finite(value) for key, value in items}
        assert (row["whole"], row["double"]) == (whole, _finite(double))
        assert (_single(row["single"]), row["text"]) == (_finite(single), text)
        assert row["map"] == _strict(cell[4]) == mapping
        assert cell[0] == ("" if whole is None else str(whole))
        # As text NaN is equal to itself.
        assert str(_number(cell[1])) == str(double)
        assert str(_single(_number(cell[2]))) == str(single)
        assert cell[3] == (text or "")


def test_no_rows(printed):
    empty = {each: printed([], each) for each in Format}
    assert empty[Format.JSON] == b"[]\n"
    assert empty[Format.JSONL] == b""
    assert empty[Format.CSV] == b"whole,double,single,text,map\n"
    assert pq.read_table(pa.BufferReader(empty[Format.PARQUET])).num_rows == 0
    assert pa.ipc.open_stream(empty[Format.ARROW]).read_all().num_rows == 0
    assert empty[Format.LATEX].splitlines()[-2:] == [rb"\bottomrule", rb"\end{tabular}"]
    assert empty[Format.TABLE].count(b"\n") == empty[Format.MARKDOWN].count(b"\n") == 2


def test_values_of_every_type(call):
    printed = {}
    # Parquet has no whole numbers of 128 bits.
    for output_format in (each for each in Format if each is not Format.PARQUET):
        outcome = call("sql", EVERY, "--format", output_format)
        assert (outcome.code, outcome.errors) == (0, "")
        printed[output_format] = outcome.output
    row = _strict(printed[Format.JSONL])
    assert {name: row[name] for name in AS_JSON} == AS_JSON
    assert _strict(printed[Format.JSON]) == [row]
    [header, cells] = csv.reader(io.StringIO(printed[Format.CSV]))
    found = dict(zip(header, cells, strict=True))
    assert json.loads(found["space"]) == row["space"]
    assert (found["flag"], found["day"], found["decimal"]) == ("true", "2019-07-01", "1.50")
    assert found["no_record"] == ""
    for output_format in (Format.TABLE, Format.MARKDOWN):
        line = printed[output_format].splitlines()[-1]
        assert all(text in line for text in ('[1, "a"]', "infinity", "290308-12-22 (BC)"))
        assert "\x1b" not in line


PEOPLE_READ = {
    "table": (
        "SELECT * FROM (VALUES (1, 'a', 0.5::DOUBLE), (20, NULL, 1e-9)) AS t (n, name, value)",
        [" n  name  value",
         "--  ----  -----",
         " 1  a       0.5",
         "20  —     1e-09"],
    ),
    "markdown": (
        r"""SELECT 'a|b\c' AS "x|y", NULL::INTEGER AS z, 2 AS n""",
        [r"| x\|y | z | n |", "| --- | ---: | ---: |", r"| a\|b\\c |  | 2 |"],
    ),
    "latex": (
        r"""SELECT 'a_b & 5%\' AS "x_y", 2.5 AS n UNION ALL SELECT NULL, 1""",
        [r"\begin{tabular}{lr}", r"\toprule", r"x\_y & n \\", r"\midrule",
         r"a\_b \& 5\%\textbackslash{} & 2.5 \\", r" & 1.0 \\", r"\bottomrule", r"\end{tabular}"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("output_format", PEOPLE_READ)
def test_what_people_read_is_aligned_and_escaped(output_format, call):
    query, lines = PEOPLE_READ[output_format]
    assert call("sql", query, "--format", output_format).output.splitlines() == lines


@pytest.mark.parametrize(
    ("output_format", "extra"),
    [("table", 2), ("csv", 1), ("json", 2)],
)
def test_limit(output_format, extra, call, monkeypatch):
    # Fewer than a row a batch, and more than one batch.
    monkeypatch.setattr(output, "_ROWS_OF_A_BATCH", 30)
    for limit in (1, 40):
        words = ["SELECT range FROM range(50)", "--format", output_format, "--limit", str(limit)]
        assert call("sql", *words).output.count("\n") == limit + extra
