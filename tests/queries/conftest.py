"""Releases of made-up numbers that the figures of curves are drawn from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.two_releases import write_two_releases

from dbtool.store.database import open_for_reading

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import duckdb
    from support.two_releases import Releases


@pytest.fixture(scope="package")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Releases, Path]:
    return write_two_releases(tmp_path_factory.mktemp("releases"))


@pytest.fixture
def releases(made: tuple[Releases, Path]) -> Releases:
    return made[0]


@pytest.fixture
def connection(made: tuple[Releases, Path]) -> Iterator[duckdb.DuckDBPyConnection]:
    with open_for_reading(made[1]) as opened:
        yield opened
