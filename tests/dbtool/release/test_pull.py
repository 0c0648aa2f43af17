"""Releases are downloaded whole from a server, whatever happens on the way."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dbtool.core.download import RetryPolicy
from dbtool.core.errors import DbtoolError, UsageError
from dbtool.core.manifest import MANIFEST, ReleaseFile, encode_manifest, read_manifest
from dbtool.core.release import locked
from dbtool.release.pull import Pulled, pull
from dbtool.release.verify import verify
from tests.support.kills import wait_until
from tests.support.made_up import write_shard
from tests.support.published import bytes_of, published, write_shards
from tests.support.release_server import ReleaseServer, serving_release

QUICK = RetryPolicy(most=2, timeout=5.0, first_wait=0.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("published")
    return published(write_shards(base / "own"), base / "release")


@pytest.fixture
def server(folder: Path) -> Iterator[ReleaseServer]:
    with serving_release(folder) as running:
        yield running


def pulled(server: ReleaseServer, out: Path) -> Pulled:
    return pull(server.url, out, QUICK)


def start(server: ReleaseServer, out: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "dbtool", "pull", server.url, "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_what_is_pulled_is_the_release(server, folder, tmp_path):
    told: list[tuple[str, int, int | None]] = []
    found = pull(server.url, tmp_path / "pulled", QUICK, lambda *each: told.append(each))
    assert bytes_of(tmp_path / "pulled") == bytes_of(folder)
    assert found.files == len(found.manifest.files)
    assert verify(tmp_path / "pulled").problems == ()
    assert {(what, total) for what, _, total in told} == {("downloading", found.bytes)}
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert told[-1][1] == found.bytes


def test_what_is_there_is_not_downloaded_again(server, tmp_path):
    out = tmp_path / "pulled"
    pulled(server, out)
    server.sent.clear()
    assert pulled(server, out).files == 0
    assert [sent.path for sent in server.sent] == [MANIFEST]
    (out / "README.md").unlink()
    damaged = out / "trials.parquet"
    damaged.write_bytes(damaged.read_bytes()[::-1])
    server.sent.clear()
    assert pulled(server, out).files == 2
    assert {sent.path for sent in server.sent} == {MANIFEST, "README.md", "trials.parquet"}
    assert verify(out).problems == ()


@pytest.mark.slow
def test_files_of_before_that_a_killed_pull_left_are_removed(server, folder, tmp_path):
    """As where it was killed right after the new manifest had its name."""
    out = tmp_path / "pulled"
    pulled(server, out)
    (out / ".pulling").mkdir()
    before = hostile(folder, path="old/file")
    (out / ".pulling" / MANIFEST).write_bytes(before)
    (out / "old").mkdir()
    (out / "old" / "file").touch()
    (out / "mine.txt").touch()
    (out / ".writing-1").touch()
    pulled(server, out)
    assert bytes_of(out) == bytes_of(folder) | {"mine.txt": b""}
    assert not (out / ".pulling").exists()


def add_letters(folder: Path) -> Path:
    write_shard(folder, workload="letters/fc_64/sgd")
    return folder


def test_another_state_comes_whole_or_not_at_all(server, tmp_path):
    """A newer one with more shards, and one with fewer; what did not change is not sent again."""
    out = tmp_path / "pulled"
    pulled(server, out)
    newer = add_letters(write_shards(tmp_path / "newer"))
    lesser = add_letters(tmp_path / "lesser")
    for state in (published(newer, tmp_path / "a"), published(lesser, tmp_path / "b")):
        before = bytes_of(out)
        server.folder = state
        server.sent.clear()
        server.faults.statuses["workloads.parquet"] = [404]
        with pytest.raises(DbtoolError, match="the server answers 404 Not Found"):
            pulled(server, out)
        now = {path: content for path, content in bytes_of(out).items() if ".pulling" not in path}
        assert now == before
        server.faults.statuses.clear()
        gone = [path for path in before if path.startswith("measurements/")]
        assert pulled(server, out).removed == len(set(gone) - set(bytes_of(state)))
        assert bytes_of(out) == bytes_of(state)
        assert verify(out).problems == ()
        sent = {each.path for each in server.sent if each.path.startswith("measurements/")}
        assert sent == set(bytes_of(state)) - set(before)


def test_what_was_added_after_a_pull_that_failed_is_not_lost(server, tmp_path):
    out = tmp_path / "pulled"
    pulled(server, out)
    server.folder = published(add_letters(write_shards(tmp_path / "newer")), tmp_path / "a")
    server.faults.statuses["workloads.parquet"] = [404]
    with pytest.raises(DbtoolError, match="the server answers 404 Not Found"):
        pulled(server, out)
    assert (out / ".pulling").is_dir()
    server.faults.statuses.clear()
    write_shard(out, workload="mine/fc_64/sgd")
    before = bytes_of(out)
    with pytest.raises(UsageError, match="with what was added to it here, which would be lost"):
        pulled(server, out)
    assert bytes_of(out) == before
    other = published(write_shards(tmp_path / "b", release="other"), tmp_path / "c")
    with (
        serving_release(other) as another,
        pytest.raises(UsageError, match="holds another release"),
    ):
        pulled(another, out)


def hostile(folder: Path, **changes: object) -> bytes:
    """A manifest with a file more; see the tests of manifests for what is refused of any."""
    manifest = read_manifest(folder)
    file = {**msgspec.structs.asdict(manifest.files[0]), "path": "zzz", **changes}
    files = sorted((*manifest.files, ReleaseFile(**file)), key=lambda each: each.path)
    return encode_manifest(msgspec.structs.replace(manifest, files=tuple(files)))


HOSTILE: dict[str, dict[str, object]] = {
    "of another folder": {"path": "../outside"},
    "hidden": {"path": ".pulling/x"},
    "the manifest": {"path": "manifest.json"},
    "larger than the disk": {"bytes": 2**47},
}


@pytest.mark.parametrize("changes", HOSTILE.values(), ids=HOSTILE)
def test_hostile_files_end_in_a_sentence(server, folder, tmp_path, changes):
    """One that is printable, with nothing but what has come in the folder."""
    server.faults.contents[MANIFEST] = hostile(folder, **changes)
    with pytest.raises(DbtoolError) as caught:
        pulled(server, tmp_path / "pulled")
    assert str(caught.value).isprintable()
    reserved = changes.get("path") in {".pulling/x", MANIFEST}
    assert ("which no release has" in str(caught.value)) == reserved
    assert not (tmp_path / "pulled" / MANIFEST).exists()
    assert {path.name for path in tmp_path.iterdir()} <= {"pulled"}


def test_a_release_that_cannot_be_opened_is_not_pulled(server, folder, tmp_path):
    manifest: Any = read_manifest(folder)
    studies, trials = (manifest.file(f"{name}.parquet") for name in ("studies", "trials"))
    wrong = msgspec.structs.replace(studies, path=trials.path)
    files = tuple(wrong if each == trials else each for each in manifest.files)
    signed = msgspec.structs.replace(manifest, files=files)
    server.faults.contents[MANIFEST] = encode_manifest(signed)
    server.faults.contents[trials.path] = (folder / studies.path).read_bytes()
    with pytest.raises(DbtoolError, match=r"is not sound: trials\.parquet.*; tell whoever hosts"):
        pulled(server, tmp_path / "pulled")
    files = tuple(each for each in manifest.files if each != trials)
    signed = msgspec.structs.replace(manifest, files=files)
    server.faults.contents[MANIFEST] = encode_manifest(signed)
    with pytest.raises(DbtoolError, match=r"its manifest lists no trials\.parquet"):
        pulled(server, tmp_path / "pulled")
    assert not (tmp_path / "pulled" / MANIFEST).exists()


def test_what_never_ends_is_no_manifest(server, tmp_path, monkeypatch):
    monkeypatch.setattr("dbtool.store.remote._LONGEST_MANIFEST", 200_000)
    server.faults.contents[MANIFEST] = b" " * 10**6
    with pytest.raises(DbtoolError):
        pulled(server, tmp_path / "pulled")


def test_a_folder_is_named_like_its_release(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    made = write_shards(tmp_path / "made", release="../mine")
    with serving_release(made) as server:
        found = pull(server.url, retries=QUICK)
    assert found.folder.parent.absolute() == tmp_path / "here"
    assert verify(found.folder).problems == ()


def test_one_process_at_a_time(server, tmp_path):
    out = tmp_path / "pulled"
    pulled(server, out)
    with locked(out), pytest.raises(DbtoolError, match="another process is writing to the release"):
        pulled(server, out)


def test_a_killed_pull_is_gone_on_with(server, folder, tmp_path):
    """What came before the kill is not downloaded again."""
    out = tmp_path / "pulled"
    server.faults.seconds = 0.1
    process = start(server, out)
    try:
        wait_until(lambda: len(server.sent) >= 3, process)
        with pytest.raises(DbtoolError, match="another process"), locked(out, 0.0, "wait"):
            pass
    finally:
        process.kill()
        process.communicate()
    assert process.returncode, "the kill has to strike: let the server be slower"
    assert not (out / MANIFEST).exists()
    process = start(server, out)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert output == f"{out}\n"
    assert f"`--db {out}`" in errors
    assert bytes_of(out) == bytes_of(folder)
    whole = [sent.path for sent in server.sent if not sent.range and sent.bytes]
    downloaded = [path for path in whole if path != MANIFEST]
    # Those alone are requested twice that were on their way when the kill struck.
    assert len(downloaded) - len(set(downloaded)) <= 8
