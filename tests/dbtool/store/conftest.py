"""Releases that the tests of the store read."""

from pathlib import Path

import pytest

from tests.support.made_up import write_digits, write_letters


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two workloads in a release, one of them in another too; evaluations at steps 0, 10, 20, …"""
    folder = tmp_path_factory.mktemp("releases")
    write_digits(folder / "first", "first")
    write_letters(folder / "first", "first")
    write_digits(folder / "second", "second", better=0.01)
    return folder
