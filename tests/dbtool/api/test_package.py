"""What importing the package costs, and that its documentation is true."""

from __future__ import annotations

import doctest
import importlib
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import dbtool

if TYPE_CHECKING:
    from pathlib import Path

HEAVY = (
    "duckdb",
    "polars",
    "pyarrow",
    "numpy",
    "pandas",
    "matplotlib",
    "jax",
    "typer",
    "platformdirs",
)


def test_importing_brings_nothing_heavy() -> None:
    code = (
        "import sys, dbtool, dbtool.errors; dbtool.open; dbtool.__version__; "
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("name", ["dbtool", "dbtool.api.database", "dbtool.api.result"])
def test_examples_in_docstrings(name: str, sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBTOOL_DB", str(sample))
    module = importlib.import_module(name)
    with dbtool.open() as db:
        done = doctest.testmod(module, extraglobs={"db": db, "dbtool": dbtool})
    assert done.attempted > 0
    assert done.failed == 0
