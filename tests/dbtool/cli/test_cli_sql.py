"""`dbtool sql`: its queries, its parameters and what it cannot do."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbtool.cli.sql import parse_parameters

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Call


def test_query_from_the_words_a_file_and_standard_input(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = "SELECT count(*) AS n FROM studies;  -- all of them\n"
    file = tmp_path / "query.sql"
    file.write_text(query)
    monkeypatch.setattr(sys, "stdin", io.StringIO(query))
    for words in ([query], ["-f", str(file)], ["-"]):
        assert call("sql", *words, "--format", "csv").output == "n\n3\n"


def test_parameters_are_numbers_where_they_look_like_it(call: Call) -> None:
    query = "SELECT typeof($a) AS a, typeof($b) AS b, typeof($c) AS c, $c AS text"
    words = ["--param", "a=3", "--param", "b=-2.5e-3", "--param", "c=a = b"]
    outcome = call("sql", query, *words, "--format", "jsonl")
    row = json.loads(outcome.output)
    assert row == {"a": "INTEGER", "b": "DOUBLE", "c": "VARCHAR", "text": "a = b"}


@given(st.dictionaries(st.from_regex(r"[a-z]\w*", fullmatch=True), st.integers() | st.text()))
def test_parameters_come_back(values: dict[str, int | str]) -> None:
    parsed = parse_parameters([f"{name}={value}" for name, value in values.items()])
    assert {
        name: str(value) for name, value in parsed.items() if isinstance(value, int)
    }.keys() >= {name for name, value in values.items() if isinstance(value, int)}
    texts = {name: value for name, value in parsed.items() if isinstance(value, str)}
    assert all(values[name] == value for name, value in texts.items())


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_decimal_parameters_are_exact(number: float) -> None:
    assert parse_parameters([f"x={number!r}"]) == {"x": number}


@pytest.mark.parametrize("query", ["DESCRIBE measurements", "SUMMARIZE trials", "SHOW TABLES"])
def test_other_statements_that_read(query: str, call: Call) -> None:
    assert call("sql", query).code == 0


def test_explain_prints_the_plan(call: Call) -> None:
    outcome = call("sql", "EXPLAIN SELECT * FROM trials")
    assert outcome.code == 0
    assert "TRIAL" in outcome.output.upper()
    assert outcome.output.count("\n") > 5


def test_nothing_changes_the_database(call: Call, database: Path, tmp_path: Path) -> None:
    before = hashlib.sha256(database.read_bytes()).hexdigest()
    other = tmp_path / "rows.csv"
    for query in (
        f"COPY trials TO '{other}'",
        f"COPY trials TO '{database}'",
        f"EXPORT DATABASE '{tmp_path / 'all'}'",
        f"ATTACH '{tmp_path / 'new.duckdb'}'",
        "UPDATE stored.trial SET steps = 0",
        "DROP VIEW trials",
        "EXPLAIN ANALYZE UPDATE stored.trial SET steps = 0",
    ):
        assert call("sql", query).code == 1
    assert hashlib.sha256(database.read_bytes()).hexdigest() == before
    assert not list(tmp_path.iterdir())


def test_parquet_and_csv_files_are_out_of_reach(call: Call, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("word\nswordfish\n")
    for query in (
        f"FROM '{secret}'",
        f"FROM read_csv('{secret}')",
        f"FROM read_text('{secret}')",
        f"FROM read_blob('{secret}')",
        f"FROM glob('{tmp_path}/*')",
    ):
        outcome = call("sql", query)
        assert outcome.code == 1
        assert "swordfish" not in outcome.output + outcome.errors


def test_reader_that_goes_away_is_no_error(database: Path) -> None:
    for output_format in ("table", "csv", "jsonl", "json", "markdown", "arrow", "parquet"):
        query = "SELECT range, range::VARCHAR AS text FROM range(300000)"
        words = [sys.executable, "-m", "dbtool", "sql", query, "--format", output_format]
        with subprocess.Popen(
            words,
            env=os.environ | {"DBTOOL_DB": str(database)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            assert process.stdout.read(10)
            process.stdout.close()
            assert process.stderr.read() == b""
