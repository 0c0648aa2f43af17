"""`dbtool sql`: its queries, its parameters and what it cannot do."""

import csv
import subprocess
import sys
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import dbtool
from dbtool.cli.sql import parse_parameters
from dbtool.store.questions import analyses
from tests.support.made_up import DIGITS, LETTERS, curve, write_shard
from tests.support.programs import run_python


def test_query_from_the_words_a_file_and_standard_input(call, database, tmp_path):
    query = "SELECT count(*) AS n FROM studies;  -- all of them\n"
    file = tmp_path / "query.sql"
    file.write_text(query)
    for words in ([query], ["-f", str(file)]):
        assert call("sql", *words, "--format", "csv").output == "n\n3\n"
    words = ["-m", "dbtool", "sql", "-", "--db", str(database), "--format", "csv"]
    assert run_python(*words, input=query).stdout == "n\n3\n"


def test_analyses_run_by_their_names(call, database):
    columns, *rows = csv.reader(call("sql", "summary", "--format", "csv").output.splitlines())
    assert columns[:2] == ["release", "workload"]
    assert [row[:2] for row in rows] == [["made-up", DIGITS], ["made-up", LETTERS]]
    with dbtool.open(database) as db:
        assert [[*row[:2]] for row in db.sql("summary")] == [row[:2] for row in rows]
    _, *chosen = csv.reader(call("sql", "summary", "let*", "--format", "csv").output.splitlines())
    assert chosen == [row for row in rows if row[1] == LETTERS]
    help_text = call("sql", "--help").output
    assert [name for name in analyses() if f"\n  {name} " not in help_text] == []


SEARCH = {"method": "window", "goal": 0.1, "reached": False, "most_steps": 1, "best_trial": 0}


def test_an_analysis_without_rows_says_what_it_needs(call, tmp_path):
    write_shard(tmp_path, trials=[(0, "COMPLETE", {}, curve([0.9]))], search=SEARCH)
    for name, needs in (
        ("luck", "studies of 5 or more settings whose trials were trained to their end"),
        ("efficiency", "studies of 5 or more settings; the replicates of a setting count once"),
        ("best_by_epochs", "workloads whose train_examples are known, and studies of an epoch"),
    ):
        outcome = call("sql", name, "--db", str(tmp_path))
        assert outcome.errors.startswith(f"{name} has no rows: it needs {needs}")


NAMES, TEXTS = st.from_regex(r"[a-z]\w*", fullmatch=True), st.text()
# SQL has whole numbers of 38 digits.
WHOLE = st.integers(1 - 10**38, 10**38 - 1)
NUMBERS = WHOLE | st.floats(allow_nan=False, allow_infinity=False)


@given(st.dictionaries(NAMES, NUMBERS | TEXTS))
@example({"a": -(10**37), "b": "c = d"})
def test_parameters_come_back(values):
    parsed = parse_parameters([f"{name}={value}" for name, value in values.items()])
    assert parsed.keys() == values.keys()
    for name, value in values.items():
        assert parsed[name] == type(parsed[name])(value)
        assert isinstance(value, str | type(parsed[name]))


def test_explain_prints_the_plan(call):
    outcome = call("sql", "EXPLAIN SELECT * FROM trials")
    assert outcome.code == 0
    assert "TRIAL" in outcome.output.upper()
    assert outcome.output.count("\n") > 5


@pytest.mark.slow
def test_reader_that_goes_away_is_no_error(database):
    for output_format in ("table", "csv", "jsonl", "json", "markdown", "arrow", "parquet"):
        query = "SELECT range, range::VARCHAR AS text FROM range(300000)"
        words = [sys.executable, "-m", "dbtool", "sql", query, "--format", output_format]
        pipes: Any = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
        started: Any = subprocess.Popen([*words, "--db", str(database)], **pipes)
        with started as process:
            assert process.stdout.read(10)
            process.stdout.close()
            assert process.stderr.read() == b""


def test_tables_to_join(call, tmp_path):
    clusters, weights = tmp_path / "a=b.csv", tmp_path / "weights.jsonl"
    clusters.write_text("trial_id,cluster\n0,north\n1,south\n")
    weights.write_text('{"trial_id": 1, "weight": 0.5}\n')
    query = (
        "SELECT DISTINCT trial_id, cluster, weight FROM trials JOIN clusters USING (trial_id) "
        "JOIN weights USING (trial_id)"
    )
    words = ("--with", f"clusters={clusters}", "--with", f"weights={weights}", "--format", "csv")
    assert call("sql", query, *words).output == "trial_id,cluster,weight\n1,south,0.5\n"


def test_a_query_is_printed_for_another_engine(call, database):
    query = "SELECT count(*) AS n FROM trials WHERE steps > $least"
    words = ("sql", query, "--param", "least=3")
    context = pl.SQLContext({"made_up.trials": pl.scan_parquet(database / "trials.parquet")})
    context.register("made_up.studies", pl.scan_parquet(database / "studies.parquet"))
    found = context.execute(call(*words, "--dialect", "polars").output).collect()
    assert found.write_csv() == call(*words, "--format", "csv").output
    assert found["n"].item() > 0
