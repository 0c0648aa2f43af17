"""What importing the package costs, and that its documentation is true."""

import doctest
import importlib

import dbtool
from tests.support.programs import run_python

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
