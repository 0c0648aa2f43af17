"""What a person does wrong: one sentence, the right exit code, nothing on standard output."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Call

# words, exit code, parts of the sentence
MISTAKES = [
    (["stps"], 2, ["unknown command 'stps'", "steps", "dbtool --help"]),
    (["--vrsion"], 2, ["unknown option '--vrsion'", "--version"]),
    (["steps", "digits/*", "--gaol", "1"], 2, ["'--gaol'", "--goal", "dbtool steps --help"]),
    (["steps"], 2, ["missing argument 'WORKLOAD...'", "dbtool steps --help"]),
    (["steps", "digits/*", "--goal"], 2, ["--goal"]),
    (["steps", "digits/*", "--goal", "low"], 2, ["'--goal'", "number"]),
    (["releases", "--format", "tabel"], 2, ["'tabel'", "table"]),
    (["releases", "--limit", "-1"], 2, ["'--limit'"]),
    (["steps", "digit"], 2, ["unknown workload 'digit'", "digits/", "dbtool workloads"]),
    (["trials", "nothing/*"], 2, ["unknown workload 'nothing/*'", "dbtool workloads"]),
    (["studies", "--release", "made_up"], 2, ["unknown release", "made-up", "dbtool releases"]),
    (["trials", "digits/*", "--batch-size", "9"], 2, ["unknown batch size '9'", "8", "studies"]),
    (["steps", "digits/*", "--metric", "val_error"], 2, ["unknown metric", "val_c", "DESCRIBE"]),
    (["steps", "letters/*"], 2, ["letters/", "no goal", "--goal"]),
    (["steps", "digits/*", "--metric", "val_cross_entropy_error"], 2, ["no goal", "--goal"]),
    (["plot", "steps", "--workload", "letters/*"], 1, ["no goal is known for letters/", "--goal"]),
    (["sql"], 2, ["dbtool sql QUERY"]),
    (["sql", "SELECT 1", "-f", "q.sql"], 2, ["give one query"]),
    (["sql", "-f", "absent.sql"], 2, ["absent.sql", "No such file"]),
    (["sql", "SELECT $x"], 2, ["$x", "--param x=VALUE"]),
    (["sql", "SELECT $x", "--param", "x"], 2, ["'x'", "NAME=VALUE"]),
    (["sql", "SELECT $goal", "-p", "gaol=1", "-p", "goal=1"], 2, ["'gaol'", "goal"]),
    (["sql", "SELECT $x", "-p", "x=1", "-p", "x=2"], 2, ["given twice"]),
    (["sql", "SELEC 1"], 1, ["syntax error", "SELEC"]),
    (["sql", "SELECT * FROM measurments"], 1, ["measurments", "measurements"]),
    (["sql", "SELECT leraning_rate FROM trials"], 1, ["leraning_rate", '"learning_rate"']),
    (["sql", "SELECT 'x'::INTEGER"], 1, ["Could not convert string 'x'"]),
    (["sql", "SELECT 'x'::INTEGER", "--format", "csv"], 1, ["Could not convert string 'x'"]),
    (["sql", ""], 1, ["0 statements"]),
    (["sql", "SELECT 1; SELECT 2"], 1, ["2 statements"]),
    (["sql", "DELETE FROM stored.trial"], 1, ["DELETE is not a query", "dbtool ingest"]),
    (["sql", "CREATE TABLE t AS SELECT 1"], 1, ["CREATE"]),
    (["sql", "COPY (SELECT 1) TO 'rows.csv'"], 1, ["COPY"]),
    (["sql", "ATTACH 'other.duckdb'"], 1, ["ATTACH"]),
    (["sql", "SET lock_configuration = false"], 1, ["SET"]),
    (["sql", "EXPLAIN ANALYZE DELETE FROM stored.trial"], 1, ["read-only"]),
    (["sql", "FROM read_text('/etc/hosts')"], 1, ["disabled"]),
    (["sql", "FROM '/etc/hosts'"], 1, ["does not exist"]),
    (["sql", "FROM sys"], 1, ["does not exist"]),
    (["sql", "SELECT INTERVAL 1 DAY", "--format", "parquet"], 1, ["parquet", "cast"]),
    (["ingest", "absent"], 2, ["absent", "dbtool produce"]),
    (["releases", "--db", "absent.duckdb"], 2, ["absent.duckdb", "dbtool ingest"]),
]


@pytest.mark.parametrize(("words", "code", "parts"), MISTAKES, ids=lambda each: str(each)[:60])
def test_mistake_is_one_sentence(words: list[str], code: int, parts: list[str], call: Call) -> None:
    outcome = call(*words)
    assert outcome.code == code
    assert outcome.output == ""
    assert outcome.errors.startswith("dbtool: ")
    assert outcome.errors.count("\n") == 1
    assert all(part in outcome.errors for part in parts), outcome.errors


@pytest.mark.parametrize(
    "words",
    [
        ["steps", "digit"],
        ["sql", "SELECT leraning_rate FROM trials"],
        ["sql", "SELECT 'x'::INTEGER FROM measurements", "--format", "jsonl"],
        ["stps"],
        ["releases", "--db", "absent.duckdb"],
    ],
    ids=lambda words: words[0],
)
def test_mistake_in_a_process_of_its_own(words: list[str], start: Call) -> None:
    outcome = start(*words)
    assert outcome.code in {1, 2}
    assert outcome.output == ""
    assert outcome.errors.startswith("dbtool: ")
    assert outcome.errors.count("\n") == 1


def test_file_that_is_no_database(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "notes.duckdb"
    path.write_text("not a database " * 1000)
    outcome = call("releases", "--db", str(path))
    assert outcome.code == 1
    assert outcome.errors.count("\n") == 1
    assert str(path) in outcome.errors


def test_folder_without_shards(call: Call, tmp_path: Path) -> None:
    outcome = call("ingest", str(tmp_path))
    assert (outcome.code, outcome.output) == (2, "")
    assert "trials-*.parquet" in outcome.errors
