"""A release on a server answers as a database does, in parts; nothing else can be read with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.published import OTHERS, SGD, VIEWS, rows

import dbtool
from dbtool.archive.download.watch import Patience
from dbtool.errors import DbtoolError, UsageError
from dbtool.store.reading import open_to_read
from dbtool.store.remote.opening import open_place
from dbtool.store.remote.places import folder_address
from dbtool.store.remote.web import WebPlace

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb
    from support.release_server import ReleaseServer

LARGE, LARGE_METRIC = "letters/large/sgd", "val_cross_entropy_error"
QUICK = Patience(retries=2, timeout=2.0, first_wait=0.0)
ANSWERS = (
    *(f"FROM {view}" for view in VIEWS),
    "FROM steps_to_result(NULL, NULL, NULL, NULL, 100)",
    "FROM steps_to_result(NULL, NULL, 'val_classification_error', 0.25, 100)",
    "FROM steps_to_result(NULL, 'digits/*', 'batch_cross_entropy_error', 0.5, 2)",
    "FROM best_measurements(NULL, NULL, NULL, NULL, NULL, 100)",
    "FROM best_measurements(NULL, NULL, 'test_average_precision', 20, NULL, 100)",
    "FROM trial_outcomes(NULL, NULL, NULL, NULL, NULL)",
)


def opened(url: str) -> duckdb.DuckDBPyConnection:
    return open_place(WebPlace(folder_address(url), QUICK))


def failure(url: str, query: str = "FROM measurements") -> str:
    """The sentence of a query that fails, or of opening the release."""
    with pytest.raises(DbtoolError) as caught:
        dbtool.api.Database(opened(url), name="it").sql(query)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("query", ANSWERS)
def test_answers_are_those_of_the_database(
    server: ReleaseServer, folder: Path, stored: Path, query: str
) -> None:
    expected = rows(stored, query)
    assert expected
    with opened(server.url) as connection:
        assert sorted(map(str, connection.execute(query).fetchall())) == expected
    local, name = open_to_read(folder)
    with local as connection:
        assert sorted(map(str, connection.execute(query).fetchall())) == expected
    assert name == str(folder)


def test_a_question_about_a_study_opens_its_file_alone(server: ReleaseServer) -> None:
    with opened(server.url) as connection:
        server.sent.clear()
        query = "SELECT count(step) FROM measurements WHERE workload = $workload AND batch_size = 8"
        assert connection.execute(query, {"workload": SGD}).fetchall() == [(87,)]
        assert {sent.path for sent in server.sent} <= {f"measurements/{SGD}.parquet"}
        server.sent.clear()
        connection.execute(query, {"workload": SGD}).fetchall()
        assert server.sent == []
        steps = f"FROM steps_to_result(NULL, '{OTHERS}', NULL, NULL, 100)"
        assert len(connection.execute(steps).fetchall()) == 1
        assert not [sent for sent in server.sent if sent.path.startswith("measurements/")]


def test_a_question_about_a_study_reads_its_part_of_a_file(
    server: ReleaseServer, folder: Path
) -> None:
    query = f"SELECT count({LARGE_METRIC}) FROM measurements WHERE workload = ? AND batch_size = 32"
    size = (folder / f"measurements/{LARGE}.parquet").stat().st_size
    with opened(server.url) as connection:
        server.sent.clear()
        assert connection.execute(query, [LARGE]).fetchall() == [(8000,)]
        assert {sent.path for sent in server.sent} == {f"measurements/{LARGE}.parquet"}
        assert all(sent.range for sent in server.sent)
        assert 0.3 * size < sum(sent.bytes for sent in server.sent) < 0.75 * size


@pytest.mark.parametrize(
    "query",
    [
        "FROM read_csv('/etc/hosts')",
        "FROM read_parquet('http://127.0.0.1:9/other.parquet')",
        "FROM read_text('release://manifest.json')",
        "FROM glob('release://*')",
        "COPY (SELECT 1) TO 'release://tables/trials.parquet'",
        "COPY (SELECT 1) TO '/tmp/never'",
        "ATTACH '/tmp/never.duckdb'",
        "INSTALL httpfs",
        "SET enable_external_access = true",
        "SET allowed_directories = ['/']",
    ],
)
def test_nothing_else_can_be_read_or_written(server: ReleaseServer, query: str) -> None:
    import duckdb

    with opened(server.url) as connection:
        try:
            found = connection.execute(query).fetchall()
        except duckdb.Error:
            return
        assert found == []


def test_python_and_the_command_line_take_urls(
    server: ReleaseServer, stored: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dbtool.open(server.url) as db, dbtool.open(stored) as local:
        assert db.workloads().equals(local.workloads())
        assert db.best(SGD).equals(local.best(SGD))
        curve = db.measurements(SGD, batch_size=8, trial_id=2).sort("step").collect()
        assert curve.equals(
            local.measurements(SGD, batch_size=8, trial_id=2).sort("step").collect()
        )
    monkeypatch.setenv("DBTOOL_DB", server.url.rstrip("/"))
    with dbtool.open() as db:
        assert db.releases()["release"].to_list() == ["made-up"]


def test_a_server_that_stumbles_is_asked_again(server: ReleaseServer, stored: Path) -> None:
    server.faults.statuses["manifest.json"] = [503, 429, 0]
    with opened(server.url) as connection:
        server.faults.cuts = 2
        found = connection.execute("FROM measurements").fetchall()
    assert sorted(map(str, found)) == rows(stored, "FROM measurements")


def test_what_goes_wrong_is_said_in_a_sentence(server: ReleaseServer, folder: Path) -> None:
    faults, name = server.faults, f"measurements/{SGD}.parquet"
    assert "there is no manifest.json (the server answers 404)" in failure(server.url + "nowhere")
    assert "Connection refused (3 tries)" in failure("http://127.0.0.1:9/release")
    faults.statuses["manifest.json"] = [403]
    assert "the server answers 403 Forbidden" in failure(server.url)
    faults.statuses["manifest.json"] = [503]
    assert "503 Service Unavailable (3 tries)" in failure(server.url)
    faults.statuses.clear()
    manifest = (folder / "manifest.json").read_bytes()
    faults.contents["manifest.json"] = manifest.replace(b'"made-up"', b'"other"')
    assert "was altered: its own digest does not match" in failure(server.url)
    faults.contents["manifest.json"] = manifest.replace(b'_format": 2', b'_format": 3')
    assert "has manifest format 3 and this dbtool reads 2" in failure(server.url)
    faults.contents["manifest.json"] = b"<html>"
    assert "is not a sound manifest" in failure(server.url)
    faults.contents.clear()
    for other in ((folder / name).read_bytes() + b"x", b"PAR1" * 9):
        faults.contents[name] = other
        assert f"has another {name} than its manifest.json lists" in failure(server.url)
    faults.contents = {
        "tables/trials.parquet": (folder / "tables/trials.parquet").read_bytes()[::-1]
    }
    assert "has another tables/trials.parquet than" in failure(server.url)
    faults.contents.clear()
    faults.statuses[name] = [404]
    assert f"has another {name} than its manifest.json lists" in failure(server.url)
    faults.statuses.clear()
    faults.ranges = False
    message = failure(server.url)
    assert "sends files whole" in message
    assert message.endswith(f"take the release with `dbtool pull {server.url}`")


def test_a_file_that_changes_meanwhile_is_told(server: ReleaseServer, folder: Path) -> None:
    """Of the same size, and so told by the server's ETag."""
    name = f"measurements/{LARGE}.parquet"
    content = (folder / name).read_bytes()
    query = f"SELECT sum(step) FROM measurements WHERE workload = '{LARGE}' AND batch_size = "
    with dbtool.open(server.url) as db:
        db.sql(query + "16")
        server.faults.contents[name] = content[:99] + b"x" + content[100:]
        with pytest.raises(DbtoolError, match=f"has another {name} than its manifest.json lists"):
            db.sql(query + "32")


def test_a_slow_server_is_given_up(server: ReleaseServer) -> None:
    server.faults.seconds = 1.0
    place = WebPlace(folder_address(server.url), Patience(retries=0, timeout=0.2))
    with pytest.raises(DbtoolError, match=r"manifest\.json: the server stalled; check"):
        open_place(place)


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("s3://bucket/release", "is no http:// or https:// address"),
        ("https://example.org/release?token=1", "has a part behind its path"),
        ("http://127.0.0.1:0/release", "names no server"),
    ],
)
def test_addresses_that_cannot_be_are_told(address: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        dbtool.open(address)


def test_a_folder_that_is_no_release_is_told(tmp_path: Path) -> None:
    with pytest.raises(DbtoolError, match="is no published release"):
        open_to_read(tmp_path)
