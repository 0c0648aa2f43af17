"""Before a query of a release on a server fetches much, it is said how much."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from support.published import OTHERS

from dbtool.archive.download.watch import Patience
from dbtool.store.remote.estimate import bytes_to_fetch
from dbtool.store.remote.opening import open_place
from dbtool.store.remote.places import folder_address
from dbtool.store.remote.web import WebPlace

if TYPE_CHECKING:
    from pathlib import Path

    from support.release_server import ReleaseServer

LARGE, METRIC = "letters/large/sgd", "val_cross_entropy_error"


@pytest.mark.parametrize(
    ("query", "values"),
    [
        (f"SELECT avg({METRIC}) FROM measurements WHERE workload = $w", {"w": LARGE}),
        (f"SELECT sum({METRIC}), max(step) FROM measurements", {}),
        ("FROM measurements WHERE workload LIKE '%large%' AND batch_size = 16", {}),
        (f"FROM steps_to_result(NULL, '{LARGE}', '{METRIC}', 0.5, 100)", {}),
        (f"FROM steps_to_result(NULL, '{LARGE}', 'batch_cross_entropy_error', 0.6, 100)", {}),
    ],
)
def test_it_is_not_less_than_what_is_fetched(
    server: ReleaseServer, query: str, values: dict[str, str]
) -> None:
    with open_place(WebPlace(folder_address(server.url), Patience(retries=0))) as connection:
        expected = bytes_to_fetch(connection, query, values, 0)
        assert expected is not None
        server.sent.clear()
        connection.execute(query, values).fetchall()
        fetched = sum(s.bytes for s in server.sent if s.path == f"measurements/{LARGE}.parquet")
        assert fetched <= expected <= 1.5 * fetched + 100_000


def test_what_is_not_asked_for_does_not_count(server: ReleaseServer, folder: Path) -> None:
    size = (folder / f"measurements/{LARGE}.parquet").stat().st_size
    with open_place(WebPlace(folder_address(server.url))) as connection:
        one = f"SELECT max({METRIC}) FROM measurements WHERE workload = '{OTHERS}'"
        assert (bytes_to_fetch(connection, one, {}, 0) or 0) < 0.1 * size
        steps = "SELECT max(step) FROM measurements"
        assert bytes_to_fetch(connection, steps, {}) is None


def test_the_command_asks_for_an_option_where_nobody_can_be_asked(server: ReleaseServer) -> None:
    query = f"SELECT max({METRIC}) AS largest FROM measurements WHERE workload = '{LARGE}'"
    words = [sys.executable, "-m", "dbtool", "sql", "--db", server.url, "--format", "csv", query]
    done = subprocess.run(
        [*words, "--fetch-up-to", "0"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "this query will fetch up to 0.2 MB: allow it with --fetch-up-to 1," in done.stderr
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("largest\n0.9")
