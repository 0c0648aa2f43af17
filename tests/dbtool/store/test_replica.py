"""A made-up release with as many studies as the published one: on a server as in its folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dbtool.database import open_database
from dbtool.release.pull import pull
from tests.replica import published_plans, write_archive
from tests.support.archives import imported
from tests.support.proxies import without_proxies
from tests.support.published import VIEWS, published
from tests.support.release_server import serving_release

if TYPE_CHECKING:
    from pathlib import Path

    from dbtool.database import Database


def digest(db: Database, view: str) -> tuple[int, int]:
    """How many rows there are, and the sum of their hashes, in whatever order they come."""
    query = f"SELECT count(*) AS n, sum(hash(rows::VARCHAR)::HUGEINT) AS s FROM {view} AS rows"
    [found] = db.sql(query).rows()
    return int(found[0]), int(found[1])


@pytest.mark.slow
def test_on_a_server_and_pulled_it_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_proxies(monkeypatch)
    write_archive(tmp_path / "archive", studies=published_plans(0.002, seed=5), seed=5)
    imported(tmp_path / "archive", tmp_path / "own")
    folder = published(tmp_path / "own", tmp_path / "published")
    with serving_release(folder) as server:
        pull(server.url, tmp_path / "pulled")
        with (
            open_database(tmp_path / "own") as own,
            open_database(tmp_path / "pulled") as pulled,
            open_database(server.url) as remote,
        ):
            for view in VIEWS[1:]:
                expected = digest(own, view)
                assert expected[0] > 0
                assert digest(pulled, view) == digest(remote, view) == expected, view
            steps = own.steps_to_result("*", goal=0.5, metric="train_cross_entropy_error")
            assert steps["steps"].count() > 0
            for other in (pulled, remote):
                found = other.steps_to_result("*", goal=0.5, metric="train_cross_entropy_error")
                assert found.equals(steps)
                assert other.best("lm1b/*").equals(own.best("lm1b/*"))
