"""What a person does wrong: one sentence, the right exit code, nothing on standard output."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Call

OUT = ["--out", "TMP/new.csv"]
RUNS = ["TMP/notes.csv", "--db", "TMP/new"]
MAPPING = """
release = "x"
files = { step = "step" }
[workload]
dataset = "a"
model = "b"
optimizer = "c"
metric = "val_classification_error"
"""
# words, exit code, parts of the sentence
MISTAKES = [
    (["stps"], 2, ["unknown command 'stps'", "steps", "dbtool --help"]),
    (["--vrsion"], 2, ["unknown option '--vrsion'", "--version"]),
    (["steps", "digits/*", "--gaol", "1"], 2, ["'--gaol'", "--goal", "dbtool steps --help"]),
    (["steps"], 2, ["missing argument 'WORKLOAD'", "dbtool steps --help"]),
    (["steps", "digits/*", "--goal"], 2, ["--goal"]),
    (["steps", "digits/*", "--goal", "low"], 2, ["'--goal'", "number"]),
    (["releases", "--format", "tabel"], 2, ["'tabel'", "table"]),
    (["releases", "--limit", "-1"], 2, ["'--limit'"]),
    (["steps", "digit"], 2, ["unknown workload 'digit'", "digits/", "dbtool workloads"]),
    (["steps", "imagenet/*"], 2, ["'imagenet/*' is published, but not held here: `dbtool fetch`"]),
    (["trials", "nothing/*"], 2, ["unknown workload 'nothing/*'", "dbtool workloads"]),
    (["studies", "--release", "made_up"], 2, ["unknown release", "made-up", "dbtool releases"]),
    (["trials", "digits/*", "--batch-size", "9"], 2, ["unknown batch size '9'", "8", "studies"]),
    (["steps", "digits/*", "--metric", "val_error"], 2, ["unknown metric", "val_c", "DESCRIBE"]),
    (["steps", "letters/*"], 2, ["letters/", "no goal", "--goal"]),
    (["steps", "digits/*", "--metric", "val_cross_entropy_error"], 2, ["no goal", "--goal"]),
    (["plot", "steps", "--workload", "letters/*"], 1, ["no goal is known for letters/", "--goal"]),
    (["steps", "digits/*", "--goal", "nan"], 2, ["nan is not a finite number"]),
    (["plot", "1", "--goal", "inf"], 2, ["inf is not a finite number"]),
    (["steps", "\udcff"], 2, ["unknown workload '\\udcff'"]),
    (["sql", "SELECT '\udcff'"], 2, ["the query is not UTF-8 text"]),
    (["sql", "SELECT $x", "-p", "x=\udcff"], 2, ["the value of $x is not UTF-8 text"]),
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
    (["sql", "sumary"], 2, ["unknown analysis 'sumary'; closest: summary", "best_of_k, "]),
    (["sql", "here/luck.sql"], 2, ["closest: luck", "; `dbtool sql -f FILE` reads a file)"]),
    (["sql", ""], 1, ["0 statements"]),
    (["sql", "SELECT 1; SELECT 2"], 1, ["2 statements"]),
    (["sql", "DELETE FROM stored.trials"], 1, ["DELETE is not a query", "dbtool ingest"]),
    (["sql", "FROM read_text('/etc/hosts')"], 1, ["cannot read other files", "--with NAME=FILE"]),
    (["sql", "SELECT INTERVAL 1 DAY", "--format", "parquet"], 1, ["parquet", "cast"]),
    (["workloads", "--show", "mnist/fc_64_64/sgd"], 2, ["closest: ", "mnist/fc_64_64_64/sgd"]),
    (["workloads", "--catalog", "--db", "none"], 2, ["none, which --db names, does not exist"]),
    (["workloads", "--catalog", "--release", "mad"], 2, ["unknown release 'mad'; closest: made-"]),
    (["export", "--out", "TMP/x"], 2, ["the name 'x' does not tell a format", "of parquet, csv"]),
    (["export", "digit/*", *OUT], 2, ["unknown workload 'digit/*'; closest: digits/simple_c"]),
    (["export", "--release", "mad", *OUT], 2, ["unknown release 'mad'; closest: made-up"]),
    (["export", "--batch-size", "9", *OUT], 2, ["unknown batch size '9'; closest: "]),
    (["export", "--out", "TMP/notes.csv"], 2, ["notes.csv is there already: name another one"]),
    (["export", "--format", "xls", *OUT], 2, ["invalid value for '--format'"]),
    (["export"], 2, ["missing option '--out'"]),
    (["publish", "DATABASE", *OUT], 2, ["made-up has no licence: give the one of its measu"]),
    (["publish", "DATABASE", *OUT, "--licence", "MIT", "--release", " "], 2, ["' ' is no name"]),
    (["publish", "DATABASE", *OUT, "--citation", "TMP/notes.csv"], 2, ["holds no BibTeX entry"]),
    (["publish", "TMP", *OUT], 2, ["is no release folder: there is no manifest.json in it"]),
    (["import", "none.tar"], 2, ["none.tar"]),
    (["import"], 2, ["missing argument 'PATH'"]),
    (["import", "a", "b"], 2, ["unexpected extra argument"]),
    (["import", ".", "--release", " "], 2, ["' ' is no name"]),
    (["ingest", *RUNS, "--from", "csv"], 2, ["needs --map FILE, which says what the columns are"]),
    (["ingest", *RUNS, "--map", "m"], 2, ["--map needs --from csv, jsonl or parquet; a release"]),
    (["ingest", *RUNS, "--release", "x"], 2, ["--release needs --from csv, jsonl or parquet; a "]),
    (["ingest", *RUNS, "--from", "xml", "--map", "m"], 2, ["'xml' is not one of 'csv', 'jsonl'"]),
    (["ingest", *RUNS, "--from", "csv", "--map", "m"], 2, ["the mapping m: No such file"]),
    (["ingest", *RUNS, "--from", "csv", "--map", "TMP/map.toml"], 2, ["map.toml: it has no study"]),
    (
        ["ingest", *RUNS, "--dry-run"],
        2,
        ["--dry-run needs --from csv, jsonl or parquet; a release"],
    ),
    (
        ["ingest", *RUNS, "--guess"],
        2,
        ["--guess takes one folder: that with the files of your runs"],
    ),
    (["ingest", "TMP", "--guess", "--dry-run"], 2, ["--guess takes a folder and no other option"]),
    (["ingest", "TMP/none", "--guess"], 2, ["--guess takes one folder"]),
    (["ingest", "absent"], 2, ["absent", "dbtool produce"]),
    (["releases", "--db", "absent"], 2, ["absent", "dbtool ingest"]),
]


@pytest.mark.parametrize(("words", "code", "parts"), MISTAKES, ids=lambda each: str(each)[:60])
def test_mistake_is_one_sentence_and_writes_nothing(
    words: list[str], code: int, parts: list[str], call: Call, database: Path, tmp_path: Path
) -> None:
    files = {"notes.csv": "run,step\n", "map.toml": MAPPING}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    paths = (("TMP", tmp_path), ("DATABASE", database))
    for name, path in paths:
        words = [word.replace(name, str(path)) for word in words]
    sentence = call(*words).sentence(code)
    assert all(part in sentence for part in parts), sentence
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == files


def test_mistake_in_a_process_of_its_own(start: Call) -> None:
    outcome = start("sql", "SELECT 'x'::INTEGER FROM measurements", "--format", "jsonl")
    said = "dbtool: Conversion Error: Could not convert string 'x'"
    assert outcome.sentence(1).startswith(said)


@pytest.mark.parametrize(
    ("text", "end", "reason"),
    [(None, " <&-", "Bad file descriptor"), (b"SELECT '\xff'", "", "it is not UTF-8 text")],
)
def test_standard_input_that_cannot_be_read(
    text: bytes | None, end: str, reason: str, database: Path
) -> None:
    words = [sys.executable, "-m", "dbtool", "sql", "-", "--db", str(database)]
    done = subprocess.run(
        ["sh", "-c", f"{shlex.join(words)}{end}"], input=text, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == f"dbtool: standard input cannot be read: {reason}\n"


@pytest.mark.parametrize("command", ["releases --db", "ingest", "verify", "publish"])
def test_what_is_no_release(command: str, call: Call, tmp_path: Path) -> None:
    notes, empty = tmp_path / "notes", tmp_path / "empty"
    notes.write_text("made up")
    empty.mkdir()
    for path in (notes, empty):
        sentence = call(*command.split(), str(path)).sentence(2)
        assert str(path) in sentence
        assert "release" in sentence
