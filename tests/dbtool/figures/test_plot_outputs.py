"""What `dbtool plot` writes instead of pictures, by real runs of the command."""

import base64
import csv
import gzip
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from io import StringIO

import polars as pl
import pytest
from support.made_up import curve, write_shard
from support.terminal import run_on_terminal

from dbtool.cli.main import run
from dbtool.figures.specs import FIGURES


@dataclass(frozen=True)
class Done:
    stdout: str
    stderr: str


@pytest.fixture
def dbtool(database, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)

    def call(*words, code=0):
        with pytest.raises(SystemExit) as left:
            run(["plot", *words, "--db", str(database)])
        sys.stdout.flush()
        captured = capfd.readouterr()
        assert (left.value.code or 0) == code, captured.err
        return Done(captured.out, captured.err)

    return call


def test_the_list_counts_the_panels_with_data(dbtool):
    lines = {line.split()[0]: line for line in dbtool("--list").stdout.splitlines()}
    assert list(lines) == [spec.name for spec in FIGURES]
    assert "1 of 9 panels" in lines["figure_01"]
    assert "1 of 6 panels" in lines["figure_03"]
    assert "0 of 6 panels" in lines["figure_09a"]
    for spec in FIGURES:
        assert spec.title in lines[spec.name]
        assert lines[spec.name].endswith(spec.source)


def test_the_list_fits_a_terminal_of_80_columns(database):
    words = [sys.executable, "-m", "dbtool", "plot", "--list", "--db", str(database)]
    code, shown = run_on_terminal(words, columns=80)
    assert code == 0
    lines = shown.splitlines()
    assert max(map(len, lines)) <= 80
    assert any("1 of 9 panels" in line for line in lines)


def test_data_writes_the_rows_alone_in_every_kind_of_file(dbtool, tmp_path):
    done = dbtool("3", "--data", "csv,json,parquet", "--out", "rows")
    names = [f"rows/figure_03.{kind}" for kind in ("csv", "json", "parquet")]
    assert done.stdout.splitlines() == names
    assert sorted(path.name for path in (tmp_path / "rows").iterdir()) == [
        name.removeprefix("rows/") for name in names
    ]
    rows = list(csv.DictReader(StringIO((tmp_path / names[0]).read_text())))
    objects = json.loads((tmp_path / names[1]).read_text())
    frame = pl.read_parquet(tmp_path / names[2])
    assert [row["x"] for row in rows] == [str(each["x"]) for each in objects]
    assert frame.columns == list(objects[0]) == list(rows[0])
    for name in ("series", "y", "trial_id", "learning_rate"):
        assert frame[name].to_list() == [each[name] for each in objects]
    assert [row["y"] for row in rows] == ["" if y is None else str(y) for y in frame["y"]]
    dbtool("3", "--out", "drawn")
    assert (tmp_path / "drawn" / "figure_03.csv").read_bytes() == (tmp_path / names[0]).read_bytes()


@pytest.mark.slow
def test_html_writes_one_page_of_all_that_has_data(dbtool, tmp_path):
    assert dbtool("all", "--html", "page").stdout == "page/index.html\n"
    assert [path.name for path in (tmp_path / "page").iterdir()] == ["index.html"]
    page = (tmp_path / "page" / "index.html").read_text()
    assert 'id="figure_01"' in page
    assert 'id="figure_09a"' not in page
    assert "Figures without data" in page
    packed = re.findall(
        r'data-name="([\w-]+)".*?<script type="text/plain">([^<]*)', page, re.DOTALL
    )
    held = {f"{name}.csv": gzip.decompress(base64.b64decode(points)) for name, points in packed}
    dbtool("all", "--data", "csv", "--out", "rows")
    assert {path.name: path.read_bytes() for path in (tmp_path / "rows").iterdir()} == held
    assert len(held) >= 4


def test_a_page_of_named_figures_holds_these_alone_in_the_same_bytes(dbtool, tmp_path):
    pages = []
    for folder in ("first", "second"):
        dbtool("steps", "1", "--html", folder)
        pages.append((tmp_path / folder / "index.html").read_text())
    assert pages[0] == pages[1]
    assert re.findall(r'<section class="figure" id="(\w+)"', pages[0]) == ["figure_01", "steps"]


def test_width_and_style_change_the_picture(dbtool, tmp_path):
    def size(folder, *words):
        dbtool("steps", "--format", "svg", "--out", folder, *words)
        drawn = (tmp_path / folder / "steps.svg").read_text()
        return float(re.search(r'viewBox="0 0 ([\d.]+) ', drawn)[1]) / 72

    assert size("narrow", "--width", "3.5") == pytest.approx(3.5, abs=0.01)
    usual = size("usual")
    assert size("screen", "--style", "screen") > usual


@pytest.mark.slow
def test_several_releases_are_named_with_commas(database, tmp_path):
    other = tmp_path / "other.duckdb"
    other.write_bytes(database.read_bytes())
    rate = {"learning_rate": 0.1, "momentum": 0.9}
    write_shard(
        tmp_path / "shards",
        workload="mnist/fc_64_64_64/sgd",
        batch_size=2,
        release="second",
        goal=0.03,
        trials=[(0, "COMPLETE", rate, curve([0.9, 0.02]))],
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    def run_it(*words):
        command = [sys.executable, "-m", "dbtool", *words, "--db", str(other)]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )

    run_it("ingest", "shards")
    words = ["--workload", "mnist/fc_64_64_64/sgd", "--data", "csv", "--out", "."]
    run_it("plot", "steps", "--release", "made-up, second", *words)
    rows = list(csv.DictReader(StringIO((tmp_path / "steps.csv").read_text())))
    assert [(row["release"], row["x"], row["y"]) for row in rows] == [
        ("made-up", "1", "90"),
        ("made-up", "2", "60"),
        ("made-up", "4", "50"),
        ("second", "2", "10"),
    ]


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["1", "--data", "xlsx"], 2, "unknown kind of data 'xlsx'; closest: csv"),
        (["1", "--data", "csv", "--html", "x"], 2, "--data and --html ask for different things"),
        (["--list", "--sql"], 2, "--list and --sql ask for different things"),
        (["all", "--html", "x", "--format", "svg"], 2, "--format plays no part with --html"),
        (["all", "--html", "x", "--out", "y"], 2, "--out plays no part with --html"),
        (["1", "--data", "csv", "--format", "svg"], 2, "--format plays no part with --data"),
        (["--list", "--format", "csv"], 2, "--format plays no part with --list"),
        (["1", "--release", "made-up,made-down"], 2, "unknown release 'made-down'"),
        (["--list", "--release", "made-down"], 2, "closest: made-up"),
        (["all", "--html", "/dev/null/x"], 1, "cannot write to '/dev/null/x'"),
        (["1", "--data", "csv", "--out", "/dev/null/x"], 1, "cannot write to '/dev/null/x'"),
        (["1", "--style", "poster"], 2, "unknown style 'poster'; closest: print"),
        (["1", "--width", "0"], 2, "a width of 0 inches is not between"),
        (["1", "--width", "nan"], 2, "a width of nan inches is not between"),
        (["all", "--html", "x", "--width", "5"], 2, "--width plays no part with --html"),
        (["9a"], 1, "release made-up has no rows of figure_09a; the published release"),
        (["9a", "--html", "x"], 1, "`dbtool import batch_science_data.tar.bz2`"),
    ],
)
def test_mistakes_are_one_sentence(dbtool, words, code, sentence):
    done = dbtool(*words, code=code)
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""
