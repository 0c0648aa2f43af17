"""A small database with known contents, and the command line on it."""

from pathlib import Path

import pytest

from tests.support.commands import Call, Outcome, caller
from tests.support.made_up import write_digits, write_letters

__all__ = ["Call", "Outcome", "call", "database"]


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of two workloads, digits and letters."""
    return write_letters(write_digits(tmp_path_factory.mktemp("database") / "made-up"))


@pytest.fixture
def call(database, monkeypatch, capsysbinary) -> Call:
    """Runs the command line in this process, on the small database."""
    monkeypatch.setenv("DBTOOL_DB", str(database))
    return caller(capsysbinary)
