"""A release on a server answers as its folder does, and fetches no more than is needed."""

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import msgspec
import pytest

import dbtool
from dbtool.core.download import RetryPolicy
from dbtool.core.errors import DbtoolError
from dbtool.core.manifest import encode_manifest, read_manifest
from dbtool.database import open_database
from dbtool.store import remote
from tests.dbtool.store.conftest import failure
from tests.support.made_up import write_shard
from tests.support.programs import run_python
from tests.support.published import OTHERS, SGD, VIEWS, flipped, rows, write_shards, write_swapped
from tests.support.release_server import ReleaseServer, serving_release

LARGE, METRIC = "letters/large/sgd", "val_cross_entropy_error"
LONGEST = 60
PIPES: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE) | {"text": True}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "_RETRIES", RetryPolicy(most=2, timeout=2.0, first_wait=0.0))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small shards, and some of a size that is read in parts."""
    folder = write_shards(tmp_path_factory.mktemp("release"))
    random = Random(1)
    for batch_size in (16, 32, 64):
        noise = [
            {"step": step, METRIC: random.random(), "batch_cross_entropy_error": 0.5}
            for step in range(4000)
        ]
        trials: Any = [(trial, "COMPLETE", {}, noise) for trial in (0, 1)]
        study: Any = {"workload": LARGE, "metric": METRIC, "train_steps": 3999}
        write_shard(folder, batch_size=batch_size, trials=trials, **study)
    return folder


@pytest.fixture
def server(folder: Path) -> Iterator[ReleaseServer]:
    with serving_release(folder) as running:
        yield running


def shards(server: ReleaseServer) -> list[str]:
    """The shards that were requested so far; they are forgotten."""
    paths = [sent.path for sent in server.sent if sent.path.startswith("measurements/")]
    server.sent.clear()
    return paths


def of_study(folder: Path, workload: str, batch_size: int) -> list[Any]:
    part = f"workload={workload.replace('/', '%2F')}/batch_size={batch_size}/"
    return [file for file in read_manifest(folder).shards if part in file.path]


def test_answers_are_those_of_the_folder(server, folder):
    # DBTOOL_DB and pathlib leave one slash of two.
    with open_database(Path(server.url)) as db, open_database(folder) as local:
        for view in (*VIEWS, "evaluations"):
            query = f"FROM {view} ORDER BY ALL"
            assert db.sql(query).polars().equals(local.sql(query).polars())
        assert db.steps(SGD).equals(local.steps(SGD))
        found, expected = (
            each.measurements(SGD, batch_size=8, trial_id=2).sort("step").collect()
            for each in (db, local)
        )
        assert found.equals(expected)


def test_only_the_shards_of_the_study_come_and_come_once(server, folder):
    query = "SELECT count(step) AS rows FROM measurements WHERE workload = $w AND batch_size = $b"
    with open_database(server.url) as db:
        smallest = min(read_manifest(folder).shards, key=lambda file: file.bytes)
        assert shards(server) == [smallest.path]
        assert db.sql(query, w=LARGE, b=32).rows() == [(8000,)]
        assert shards(server) == [file.path for file in of_study(folder, LARGE, 32)]
        assert db.sql(query, w=LARGE, b=32).rows() == [(8000,)]
        assert db.trials(OTHERS).height == 1
        assert server.sent == []
    with open_database(server.url) as db:
        assert db.sql(query, w=LARGE, b=32).rows() == [(8000,)]
        assert [sent.path for sent in server.sent] == ["manifest.json"]


def test_a_join_fetches_the_shards_of_its_keys_alone(server, folder):
    query = (
        "SELECT count(step) AS rows FROM measurements WHERE workload IN "
        "(SELECT workload FROM workloads WHERE metric = 'test_average_precision')"
    )
    with open_database(server.url) as db:
        shards(server)
        assert db.sql(query).rows() == [(41,)]
        assert set(shards(server)) <= {file.path for file in of_study(folder, OTHERS, 32)}


def test_a_flipped_bit_on_the_server_is_noticed(server, folder):
    random = Random(3)
    [shard] = of_study(folder, LARGE, 32)
    content = (folder / shard.path).read_bytes()
    query = f"SELECT sum({METRIC}) AS all FROM measurements WHERE batch_size = 32"
    query += f" AND workload = '{LARGE}'"
    for _ in range(3):
        at = random.randrange(len(content))
        server.faults.contents[shard.path] = flipped(content, at, random.randrange(8))
        sentence = failure(server.url, query)
        assert sentence.startswith(f"cannot download {Path(shard.path).name} from {server.url}")
        assert f"in place of {shard.sha256}" in sentence
    server.faults.contents.clear()
    with open_database(server.url) as db:
        db.sql(query)


def test_a_flipped_bit_in_the_cache_is_noticed(server, folder):
    query = f"SELECT count(step) AS rows FROM measurements WHERE workload = '{LARGE}'"
    with open_database(server.url) as db:
        db.sql(query)
    [shard] = of_study(folder, LARGE, 32)
    cached = remote.cache_folder() / f"{shard.sha256}.parquet"
    cached.write_bytes(flipped(cached.read_bytes(), shard.bytes // 2))
    server.sent.clear()
    with open_database(server.url) as db:
        assert db.sql(query).rows() == [(24000,)]
    assert shards(server) == [shard.path]


def test_more_than_is_allowed_is_not_fetched(server, folder):
    query = f"SELECT count(step) AS rows FROM measurements WHERE workload = '{LARGE}'"
    one = of_study(folder, LARGE, 32)[0].bytes
    with open_database(server.url, fetch_up_to=2 * one) as db:
        with pytest.raises(DbtoolError, match=r"^the query needs .* MB or more, up to ") as caught:
            db.sql(query)
        assert "allow it with --fetch-up-to 1, name fewer" in str(caught.value)
        assert str(caught.value).endswith(f"`dbtool pull {server.url}`")
        assert len([path for path in shards(server) if "large" in path]) <= 2
        # Each query may fetch so much, and what came stays.
        for size in (16, 32, 64):
            assert db.sql(f"{query} AND batch_size = {size}").rows() == [(8000,)]
        assert db.sql(query).rows() == [(24000,)]


def test_queries_at_the_same_time_share_what_is_allowed(server, folder):
    query = f"SELECT count(step) FROM measurements WHERE workload = '{LARGE}' AND batch_size = "
    one = of_study(folder, LARGE, 32)[0].bytes
    with dbtool.open(server.url, fetch_up_to=1.5 * one / 1_000_000) as db:
        with db.cursor():
            assert db.sql(f"{query} 16").rows() == [(8000,)]
            with pytest.raises(DbtoolError, match="may fetch"):
                db.sql(f"{query} 32")
        assert db.sql(f"{query} 32").rows() == [(8000,)]


BEYOND = (
    "FROM '/etc/hosts'",
    "FROM read_text('release:///etc/hosts')",
    "FROM read_text('release://../../../../etc/hosts')",
    "FROM read_text('file:///etc/hosts')",
    "FROM read_parquet('http://127.0.0.1:9/other.parquet')",
    "FROM glob('release://*')",
    "FROM glob('/etc/*')",
    "COPY (SELECT 1) TO 'release://trials.parquet'",
    "COPY (SELECT 1) TO 'never'",
    "ATTACH 'never.duckdb'",
    "ATTACH 'release://never.duckdb'",
    "SET enable_external_access = true",
)


def test_nothing_else_can_be_read_or_written(server):
    """Past the check of what kind of statement it is."""
    with open_database(server.url) as db:
        for query in BEYOND:
            with contextlib.suppress(duckdb.Error, PermissionError):
                assert db.opened.connection.execute(query).fetchall() == [], query


def test_what_goes_wrong_is_said_in_a_sentence(server, folder, tmp_path):
    """What manifests and indexes are refused is told by their own tests."""
    faults = server.faults
    [shard] = of_study(folder, OTHERS, 32)
    advice = "check that the URL is a release folder's and that the server answers"
    sentence = failure(f"{server.url}nowhere")
    assert f"nowhere/manifest.json: the server answers 404 Not Found; {advice}" in sentence
    assert "Connection refused (3 tries in a row)" in failure("http://127.0.0.1:9/release")
    faults.statuses["manifest.json"] = [503]
    assert "503 Service Unavailable (3 tries in a row)" in failure(server.url)
    faults.statuses.clear()
    faults.contents["manifest.json"] = b"<html>"
    assert "is a page for a browser and no manifest" in failure(server.url)
    listed = read_manifest(folder).file("trials.parquet")
    assert listed is not None
    large = msgspec.structs.replace(listed, bytes=1 << 40)
    files = (large if file == listed else file for file in read_manifest(folder).files)
    claiming = msgspec.structs.replace(read_manifest(folder), files=tuple(files))
    faults.contents["manifest.json"] = encode_manifest(claiming)
    assert "lists no trials.parquet of the size of an index: tell" in failure(server.url)
    faults.contents = {"trials.parquet": (folder / "trials.parquet").read_bytes()[::-1]}
    assert failure(server.url).startswith(f"cannot download trials.parquet from {server.url}")
    faults.contents = {shard.path: b"PAR1"}
    assert f"it has 4 bytes in place of {shard.bytes:,}" in failure(server.url)
    # Of another study than its path, though its hash is right.
    server.folder = write_swapped(tmp_path / "release")
    assert "its name is not that of its study and its contents; tell" in failure(server.url)


def test_secrets_are_not_shown(server):
    url = server.url.replace("http://", "http://me:password@")
    with open_database(url) as db:
        assert "password" not in repr(db)
    server.faults.statuses["manifest.json"] = [403]
    assert "password" not in failure(url)


def test_two_processes_share_the_cache(server, folder):
    server.faults.seconds_a_block = 0.02
    code = (
        "import sys\nfrom dbtool.database import open_database\n"
        "with open_database(sys.argv[1]) as db:\n"
        "    print(db.sql('SELECT count(step) AS n FROM measurements').rows())"
    )
    command = [sys.executable, "-c", code, server.url]
    processes = [subprocess.Popen(command, **PIPES) for _ in range(2)]
    outputs = {process.communicate(timeout=LONGEST) for process in processes}
    assert len(outputs) == 1, outputs
    requested = shards(server)
    assert sorted(requested) == sorted(file.path for file in read_manifest(folder).shards)


UNFINISHED = """
import sys, polars as pl
from dbtool.database import open_database
with open_database(sys.argv[1]) as db:
    for _ in range(3):
        odd = db.measurements().filter(pl.col("step").cast(pl.String) != "3")
        print(odd.head(2).collect().height)
        with db.cursor() as cursor:
            cursor.execute("FROM measurements")
            print(cursor.fetchone() is not None)
"""


def test_queries_that_are_let_go_of_do_not_wait_for_ever(server):
    server.faults.seconds = 0.02
    done = run_python("-c", UNFINISHED, server.url)
    assert (done.returncode, done.stdout) == (0, "2\nTrue\n" * 3), done.stderr


INTERRUPTED = """
import sys
from dbtool.database import open_database
with open_database(sys.argv[1]) as db:
    print("open", flush=True)
    input()
    try:
        db.sql("SELECT count(step) AS n FROM measurements")
    except KeyboardInterrupt:
        print("interrupted")
    print(db.sql("SELECT 'answers again'").rows())
"""


def test_ctrl_c_ends_a_query_that_waits_for_the_server(server):
    words = [sys.executable, "-c", INTERRUPTED, server.url]
    process: Any = subprocess.Popen(words, **PIPES)
    assert process.stdout.readline() == "open\n"
    server.faults.seconds = 2.0
    asked = server.asked
    process.stdin.write("\n")
    process.stdin.flush()
    while server.asked == asked:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=LONGEST)
    answer = "interrupted\n[('answers again',)]\n"
    assert (process.returncode, output) == (0, answer), errors


def test_a_release_that_grew_is_read_as_it_is_now(folder, tmp_path):
    grown = write_shards(tmp_path / "grown")
    with serving_release(folder) as server:
        rows(Path(server.url), "SELECT count(step) FROM measurements")
        write_shard(grown, workload="letters/fc_64/sgd")
        server.folder = grown
        assert rows(Path(server.url), "FROM measurements") == rows(grown, "FROM measurements")
