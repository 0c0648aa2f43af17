"""Releases that the tests of the store read."""

from pathlib import Path

import pytest

from dbtool.core.errors import DbtoolError
from dbtool.database import open_database
from tests.support.made_up import write_digits, write_letters


def failure(source: str | Path, query: str = "FROM measurements") -> str:
    """The sentence with which opening a release, or the query, fails."""
    with pytest.raises(DbtoolError) as caught, open_database(source) as db:
        db.sql(query)
    assert str(caught.value).isprintable()
    return str(caught.value)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two workloads in a release, one of them in another too; evaluations at steps 0, 10, 20, …"""
    folder = tmp_path_factory.mktemp("releases")
    write_digits(folder / "first", "first")
    write_letters(folder / "first", "first")
    write_digits(folder / "second", "second", better=0.01)
    return folder
