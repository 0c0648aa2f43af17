"""What the command line does, Python can, after an import that is light, as docstrings show."""

import doctest
import importlib

import pytest
from polars.testing import assert_frame_equal

import dbtool
from tests.support.made_up import write_release
from tests.support.programs import run_python


def test_a_report_is_read_after_the_database_is_closed(tmp_path):
    with dbtool.open(write_release(tmp_path / "release")) as db:
        report = db.scaling("*", goal=0.5)
        before = str(report), report.rows("noise_scale"), report.rows("comparison")
    assert before[0]
    assert str(report) == before[0]
    assert_frame_equal(report.rows("noise_scale"), before[1])
    assert_frame_equal(report.rows("comparison"), before[2])


def test_every_public_name_is_there():
    assert [name for name in dbtool.__all__ if not hasattr(dbtool, name)] == []
    with pytest.raises(AttributeError, match="has no attribute 'opne'"):
        dbtool.opne  # noqa: B018


HEAVY = {"duckdb", "jax", "matplotlib", "numpy", "pandas", "polars", "pyarrow", "rich"}
IMPORTED = "\nimport sys\nprint(*sys.modules, file=sys.stderr)"


@pytest.mark.parametrize(
    ("code", "more"),
    [
        ("import dbtool, dbtool.core.errors; dbtool.open", {"typer", "platformdirs"}),
        ("from dbtool.cli.main import app; app(['--help'], standalone_mode=False)", set()),
    ],
)
def test_importing_and_listing_bring_nothing_heavy(code, more):
    assert not (HEAVY | more) & set(run_python("-c", code + IMPORTED).stderr.split())


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
