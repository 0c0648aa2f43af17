"""What the command line does, Python can, after an import that is light, as docstrings show."""

import doctest
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import dbtool
from tests.support.made_up import write_release
from tests.support.programs import run_python


@pytest.fixture
def release(tmp_path: Path) -> str:
    return str(write_release(tmp_path / "release", "mine", licence="MIT"))


def test_a_report_is_read_after_the_database_is_closed(release):
    with dbtool.open(release) as db:
        report = db.scaling("*", goal=0.5)
        before = str(report), report.rows("noise_scale"), report.rows("comparison")
    assert before[0]
    assert str(report) == before[0]
    assert_frame_equal(report.rows("noise_scale"), before[1])
    assert_frame_equal(report.rows("comparison"), before[2])


MISTAKES: list[tuple[Callable[[dbtool.Database], Any], str]] = [
    (lambda db: db.export("rows", file_format="parket"), "unknown format 'parket'; closest: parq"),
    (lambda db: db.explore("page.html", "mnits"), "unknown workload 'mnits'"),
    (lambda db: dbtool.diff(db, db, metric="steps"), "a metric needs the value that it is to pass"),
    (lambda db: db.plot("steps", through="bogus"), "unknown line 'bogus'; there are first, fit"),
    (lambda _: dbtool.verify("nowhere"), "nowhere does not exist: name a release folder"),
    (lambda _: dbtool.fetch(sha256="12"), "'12' is not a sha256: give 64 hex digits"),
    *(
        (call, "has a NUL, which the name of no file has")
        for call in (
            lambda _: dbtool.open("a\0"),
            lambda _: dbtool.verify("a\0"),
            lambda _: dbtool.scaling_of_table("a\0.csv"),
            lambda db: db.export("a\0.csv"),
        )
    ),
    (lambda _: dbtool.scaling_of_table("nowhere.csv"), "nowhere.csv cannot be read: No such"),
    (
        lambda _: dbtool.scaling_of_table(pl.DataFrame({"batch_size": [1]})),
        "the table has no column steps",
    ),
]


@pytest.mark.parametrize(("call", "sentence"), MISTAKES)
def test_mistakes_are_one_sentence(call, sentence, release):
    with dbtool.open(release) as db, pytest.raises(dbtool.UsageError) as caught:
        call(db)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_public_name_is_there():
    assert [name for name in dbtool.__all__ if not hasattr(dbtool, name)] == []
    with pytest.raises(AttributeError, match="has no attribute 'opne'"):
        dbtool.opne  # noqa: B018


HEAVY = [
    "duckdb",
    "polars",
    "pyarrow",
    "numpy",
    "pandas",
    "matplotlib",
    "jax",
    "typer",
    "platformdirs",
]


def test_importing_brings_nothing_heavy():
    code = (
        "import sys, dbtool, dbtool.core.errors; dbtool.open; dbtool.__version__; "
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    assert run_python("-c", code).stdout == "[]\n"


MODULES = (
    "dbtool",
    "dbtool.report.scaling",
    "dbtool.core.checks",
    "dbtool.core.contract",
    "dbtool.database",
    "dbtool.store.releases",
    "dbtool.store.result",
)


def test_examples_in_docstrings():
    with dbtool.open() as db:
        for name in MODULES:
            module = importlib.import_module(name)
            done = doctest.testmod(module, extraglobs={"db": db, "dbtool": dbtool})
            assert (done.attempted > 0, done.failed) == (True, 0), name
