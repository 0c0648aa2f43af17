import csv
import os
import subprocess
import sys
from dataclasses import dataclass
from io import StringIO

import pytest

from dbtool.cli.main import run
from dbtool.figures.specs import FIGURES

MEDIUM = "mnist/fc_128_128_128/sgd"
SMALL = "mnist/fc_64_64_64/sgd"


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def dbtool(database, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)

    def call(*words):
        with pytest.raises(SystemExit) as left:
            run([*words, "--db", str(database)])
        sys.stdout.flush()
        captured = capfd.readouterr()
        return Done(left.value.code or 0, captured.out, captured.err)

    return call


def test_plot_writes_png_and_csv_and_names_them(dbtool, tmp_path):
    done = dbtool("plot", "1")
    assert done.returncode == 0
    assert done.stdout.splitlines() == ["figures/figure_01.png", "figures/figure_01.csv"]
    assert "no data in release made-up: Simple CNN on Fashion MNIST" in done.stderr
    assert (tmp_path / "figures" / "figure_01.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_all_draws_what_has_data(dbtool, tmp_path):
    done = dbtool("plot", "all", "--out", "drawn", "--format", "svg")
    assert done.returncode == 0, done.stderr
    names = {path.name for path in (tmp_path / "drawn").iterdir()}
    assert {"figure_01.svg", "figure_03.svg", "steps.csv", "learning-rates.svg"} <= names


@pytest.mark.slow
def test_all_with_workloads_draws_the_figures_that_take_them(dbtool):
    done = dbtool("plot", "all", "--workload", MEDIUM)
    assert done.returncode == 0
    assert "figure_01" not in done.stdout


def test_patterns_choose_workloads(dbtool, tmp_path):
    done = dbtool("plot", "steps", "--workload", "mnist/fc_*_*_*/sgd")
    assert done.returncode == 0, done.stderr
    rows = csv.DictReader(StringIO((tmp_path / "figures" / "steps.csv").read_text()))
    assert {row["workload"] for row in rows} == {SMALL, MEDIUM}


@pytest.mark.slow
def test_every_process_writes_the_same_bytes(database, tmp_path):
    for folder in ("1", "2"):
        words = ["plot", "3", "--format", "svg,png", "--out", folder, "--db", str(database)]
        subprocess.run(
            [sys.executable, "-m", "dbtool", *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": folder},
            capture_output=True,
            check=True,
        )
    for path in (tmp_path / "1").iterdir():
        assert path.read_bytes() == (tmp_path / "2" / path.name).read_bytes()


@pytest.mark.parametrize("figure", ["1", "3", "steps"])
def test_the_printed_query_runs_through_sql(dbtool, tmp_path, figure):
    query = dbtool("plot", figure, "--sql", "--trials", "2").stdout
    printed = dbtool("sql", query, "--format", "csv")
    assert printed.returncode == 0, printed.stderr
    dbtool("plot", figure, "--trials", "2", "--out", ".")
    (written,) = tmp_path.glob("*.csv")
    drawn = [row for row in csv.DictReader(StringIO(printed.stdout)) if row["x"]]
    expected = list(csv.DictReader(StringIO(written.read_text())))
    assert [(row["series"], row["x"]) for row in drawn] == [
        (row["series"], row["x"]) for row in expected
    ]


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["plot"], 2, "name a figure"),
        (["plot", "figure_99"], 2, "unknown figure 'figure_99'"),
        (["plot", "1", "--format", "jpg"], 2, "unknown format 'jpg'"),
        (["plot", "1", "--release", "nothing"], 2, "unknown release 'nothing'"),
        (["plot", "steps", "--workload", "mnist/fc_12/sgd"], 2, "unknown workload"),
        (["plot", "1", "--workload", MEDIUM], 2, "dbtool plot steps --workload"),
        (["plot", "1", "--goal", "nan"], 2, "not a finite number"),
        (["plot", "1", "--trials", "0"], 2, "--trials"),
        (["plot", "1", "--out", "/dev/null/x"], 1, "cannot write to '/dev/null/x'"),
    ],
)
def test_mistakes_are_one_sentence(dbtool, words, code, sentence):
    done = dbtool(*words)
    assert done.returncode == code
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_the_list_names_every_figure(dbtool):
    lines = dbtool("plot", "--list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [spec.name for spec in FIGURES]
