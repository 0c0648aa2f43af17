"""Releases are taken whole from a server, whatever happens on the way."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from support.made_up import curve, write_shard
from support.proxies import without_proxies
from support.published import bytes_of, database, everything, loaded, published, write_shards
from support.release_server import serving_release

from dbtool.archive.download.watch import Patience
from dbtool.errors import DbtoolError, UsageError
from dbtool.release.pull import Pulled, pull
from dbtool.release.verify import verify

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.release_server import ReleaseServer

QUICK = Patience(retries=2, timeout=5.0, first_wait=0.0)
KILLS = 3


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    without_proxies(monkeypatch)


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_shards(tmp_path_factory.mktemp("shards"))


@pytest.fixture(scope="module")
def folder(shards: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("out")
    return published(database(path / "db", shards), path / "release")


@pytest.fixture
def server(folder: Path) -> Iterator[ReleaseServer]:
    with serving_release(folder) as running:
        yield running


def pulled(server: ReleaseServer, out: Path) -> Pulled:
    return pull(server.url, out, patience=QUICK)


def start(server: ReleaseServer, out: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "dbtool", "pull", server.url, "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_from_shards_over_a_server_into_a_database(
    server: ReleaseServer, folder: Path, shards: Path, tmp_path: Path
) -> None:
    found = pulled(server, tmp_path / "pulled")
    assert bytes_of(tmp_path / "pulled") == bytes_of(folder)
    assert found.files == len(found.manifest.files)
    assert verify(tmp_path / "pulled").problems == ()
    loaded(tmp_path / "again", tmp_path / "pulled")
    before, after = everything(database(tmp_path / "db", shards)), everything(tmp_path / "again")
    assert all("CC-BY-4.0" in row for row in after.pop("releases"))  # which publishing adds
    before.pop("releases")
    assert after == before


def test_what_is_there_is_not_fetched_again(server: ReleaseServer, tmp_path: Path) -> None:
    out = tmp_path / "pulled"
    pulled(server, out)
    server.sent.clear()
    assert pulled(server, out).files == 0
    assert [sent.path for sent in server.sent] == ["manifest.json"]
    (out / "README.md").unlink()
    damaged = out / "tables/trials.parquet"
    damaged.write_bytes(damaged.read_bytes()[::-1])
    server.sent.clear()
    assert pulled(server, out).files == 2
    assert {sent.path for sent in server.sent} == {
        "manifest.json",
        "README.md",
        "tables/trials.parquet",
    }
    assert verify(out).problems == ()


def test_of_a_newer_state_what_changed_is_fetched(
    server: ReleaseServer, shards: Path, tmp_path: Path
) -> None:
    out = tmp_path / "pulled"
    pulled(server, out)
    write_shard(
        tmp_path / "more",
        release="made-up",
        workload="letters/fc_64/sgd",
        trials=[(0, "COMPLETE", {}, curve([0.9, 0.5]))],
    )
    both = database(tmp_path / "db", shards, tmp_path / "more")
    newer = published(both, tmp_path / "newer")
    server.folder = newer
    server.sent.clear()
    pulled(server, out)
    assert bytes_of(out) == bytes_of(newer)
    asked = {sent.path for sent in server.sent}
    assert "measurements/letters/fc_64/sgd.parquet" in asked
    assert "measurements/digits/simple_cnn_base/sgd.parquet" not in asked


def test_a_release_that_loses_a_file_loses_it_here(
    server: ReleaseServer, shards: Path, tmp_path: Path
) -> None:
    out = tmp_path / "pulled"
    pulled(server, out)
    server.folder = published(database(tmp_path / "db", shards / "digits"), tmp_path / "less")
    pulled(server, out)
    assert bytes_of(out) == bytes_of(server.folder)


def test_dropped_connections_and_refusals_are_gone_on_with(
    server: ReleaseServer, folder: Path, tmp_path: Path
) -> None:
    server.faults.cuts = 5
    server.faults.statuses["README.md"] = [503, 429, 0]
    pulled(server, tmp_path / "pulled")
    assert bytes_of(tmp_path / "pulled") == bytes_of(folder)


def test_a_server_without_ranges_will_do(
    server: ReleaseServer, folder: Path, tmp_path: Path
) -> None:
    server.faults.ranges = False
    server.faults.cuts = 1
    pulled(server, tmp_path / "pulled")
    assert bytes_of(tmp_path / "pulled") == bytes_of(folder)


def test_a_failure_leaves_no_release_and_is_gone_on_with(
    server: ReleaseServer, folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "pulled"
    server.faults.contents["tables/studies.parquet"] = b"damaged"
    with pytest.raises(DbtoolError, match=r"cannot fetch tables/studies\.parquet") as caught:
        pulled(server, out)
    assert "give the same command again to go on" in str(caught.value)
    assert "--mirror" not in str(caught.value)
    assert [path.name for path in out.iterdir()] == [".pulling"]
    server.faults.contents.clear()
    server.sent.clear()
    pulled(server, out)
    assert bytes_of(out) == bytes_of(folder)
    assert "measurements/letters/fc_64/adam.parquet" not in {sent.path for sent in server.sent}


def test_other_folders_are_left_alone(server: ReleaseServer, shards: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("all of it")
    with pytest.raises(UsageError, match="holds something else"):
        pulled(server, tmp_path / "mine")
    with pytest.raises(UsageError, match="is a file"):
        pulled(server, tmp_path / "mine" / "thesis.tex")
    write_shards(tmp_path / "other", release="other")
    other = published(database(tmp_path / "db", tmp_path / "other"), tmp_path / "out", "other")
    with pytest.raises(UsageError, match="holds another release, other"):
        pulled(server, other)
    assert shards.exists()


@pytest.mark.slow
def test_kills_are_gone_on_with(server: ReleaseServer, folder: Path, tmp_path: Path) -> None:
    """What came before a kill is not fetched again."""
    out = tmp_path / "pulled"
    server.faults.seconds = 0.15
    chance = random.Random(3)
    struck = 0
    while struck < KILLS:
        process = start(server, out)
        time.sleep(chance.uniform(0.8, 1.6))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode, "a kill has to strike: let the server be slower"
        assert not (out / "manifest.json").exists()
        struck += 1
    process = start(server, out)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert output == f"{out}\n"
    assert f"`dbtool ingest {out}`" in errors
    assert f"`--db {out}`" in errors
    assert bytes_of(out) == bytes_of(folder)
    whole = [sent.path for sent in server.sent if not sent.range and sent.bytes]
    fetched = [path for path in whole if path != "manifest.json"]
    # Those alone are asked for twice that were on their way when a kill struck.
    assert len(fetched) - len(set(fetched)) <= KILLS


def test_one_process_at_a_time(server: ReleaseServer, tmp_path: Path) -> None:
    out = tmp_path / "pulled"
    server.faults.seconds = 0.3
    process = start(server, out)
    try:
        deadline = time.monotonic() + 20
        while len(server.sent) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        with pytest.raises(DbtoolError, match="another process pulls into"):
            pulled(server, out)
    finally:
        process.kill()
        process.communicate()
