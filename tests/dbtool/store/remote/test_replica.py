"""A made-up release with as many studies as the published one: on a server as in a database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from replica import published_plans, write_archive
from support.archives import imported
from support.published import VIEWS, loaded, published
from support.release_server import serving_release

from dbtool.release.pull import pull
from dbtool.store.database import open_for_reading
from dbtool.store.remote.opening import open_place
from dbtool.store.remote.places import folder_address
from dbtool.store.remote.web import WebPlace

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb

QUESTIONS = (
    "FROM steps_to_result(NULL, NULL, NULL, NULL, 100) AS rows",
    "FROM steps_to_result(NULL, 'mnist/*', 'train_cross_entropy_error', 0.5, 100) AS rows",
    "FROM best_measurements(NULL, NULL, NULL, NULL, NULL, 100) AS rows",
    "FROM best_measurements(NULL, 'lm1b/*', NULL, 5000, NULL, 100) AS rows",
    "FROM trial_outcomes(NULL, NULL, NULL, NULL, NULL) AS rows",
    *(f"FROM {view} AS rows" for view in VIEWS),
)


def digest(connection: duckdb.DuckDBPyConnection, question: str) -> tuple[int, int]:
    """How many rows there are, and the sum of their hashes, in whatever order they come."""
    query = f"SELECT count(*), sum(hash(rows::VARCHAR)::HUGEINT) {question}"
    [found] = connection.execute(query).fetchall()
    return found


@pytest.mark.slow
def test_on_a_server_and_pulled_it_is_the_database(tmp_path: Path) -> None:
    write_archive(tmp_path / "archive", studies=published_plans(0.002, seed=5), seed=5)
    imported(tmp_path / "archive", tmp_path / "first")
    folder = published(tmp_path / "first", tmp_path / "folder", "published")
    with serving_release(folder) as server:
        pull(server.url, tmp_path / "pulled")
        loaded(tmp_path / "second", tmp_path / "pulled")
        with (
            open_for_reading(tmp_path / "second") as local,
            open_place(WebPlace(folder_address(server.url))) as remote,
        ):
            for question in QUESTIONS:
                expected = digest(local, question)
                assert expected[0] > 0
                assert digest(remote, question) == expected, question
