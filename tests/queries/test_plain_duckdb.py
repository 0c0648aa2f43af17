"""What `dbtool plot --sql` prints, run by plain DuckDB on a release folder with its dbtool.sql."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import duckdb
import pytest

from dbtool.core.manifest import About
from dbtool.figures.points import Request, filled_query
from dbtool.figures.specs import FIGURES
from dbtool.release.publish.script import script
from dbtool.store.database import open_database

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dbtool.figures.specs import FigureSpec
    from dbtool.store.database import Database

    from .conftest import Releases


@pytest.fixture(scope="module")
def folder(made: tuple[Releases, Path]) -> Path:
    return made[1] / "published"


@pytest.fixture(scope="module")
def plain(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with contextlib.chdir(folder), duckdb.connect() as connection:
        connection.execute(script(About(release="published")))
        yield connection


@pytest.fixture(scope="module")
def alone(folder: Path) -> Iterator[Database]:
    with open_database(folder) as db:
        yield db


@pytest.mark.parametrize("spec", FIGURES, ids=lambda spec: spec.name)
@pytest.mark.parametrize("request_", [Request(), Request("published", 5, 0.05)], ids=str)
def test_every_figure_s_query_gives_the_same_points(
    spec: FigureSpec, request_: Request, plain: duckdb.DuckDBPyConnection, alone: Database
) -> None:
    query = filled_query(spec, request_)
    assert "$" not in query.partition("*/")[2]
    found = plain.execute(query).fetchall()
    # As text, so that not a number equals itself.
    assert [str(row) for row in found] == [str(row) for row in alone.sql(query)]
    assert found or spec.takes_workloads
