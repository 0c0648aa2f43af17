"""What a person may not read, or what is not mounted, is named and never taken for gone."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import dbtool
from dbtool.core.errors import DbtoolError
from dbtool.core.manifest import MANIFEST
from dbtool.core.release import rebuild, shard_paths, telling_of_change
from dbtool.release.verify import verify
from tests.support.made_up import write_digits, write_release
from tests.support.own_runs import mapping_text, write
from tests.support.programs import run_python

# Gives up CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH for the program that takes this one's place.
_GIVE_UP = """
import ctypes, os, sys
if os.geteuid() == 0:
    libc = ctypes.CDLL(None)
    for capability in (1, 2):
        if libc.prctl(24, capability, 0, 0, 0):
            sys.exit("cannot give up rights")
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
_COMMANDS = """
import contextlib, io, json, sys
from dbtool.cli.main import run
outcomes = []
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            try:
                run(words)
            except SystemExit as end:
                code = end.code
    outcomes.append((code or 0, out.getvalue(), errors.getvalue()))
print(json.dumps(outcomes))
"""


def run_without_rights(*commands: Sequence[str | Path]) -> list[tuple[int, str, str]]:
    """The exit code, standard output and standard error of each of some commands of dbtool."""
    if os.geteuid() == 0 and sys.platform != "linux":
        pytest.skip("root may read everything: run the tests as another user")
    words = json.dumps([[str(word) for word in command] for command in commands])
    result = run_python("-c", _GIVE_UP, "-c", _COMMANDS, words)
    return [(code, out, errors) for code, out, errors in json.loads(result.stdout)]


LISTS = (MANIFEST, "workloads.parquet", "studies.parquet", "trials.parquet")
KINDS = (
    *("a workload", "a study that may be listed", "a shard"),
    *("a link to a disk", "an empty folder for a disk"),
)


def hide(kind: str, release: Path) -> Path:
    """Hides shards of a release folder; returns what a sentence should name."""
    measurements, shard = release / "measurements", release / shard_paths(release)[0]
    modes = {
        "a workload": (shard.parent.parent, 0),
        "a study that may be listed": (shard.parent, 0o400),
        "a shard": (shard, 0),
    }
    if kind in modes:
        path, mode = modes[kind]
        path.chmod(mode)
        return path
    measurements.rename(release.parent / "disk")
    if kind == "a link to a disk":
        measurements.symlink_to(release.parent / "not_mounted")
    else:
        measurements.mkdir()
    return measurements


def test_a_release_keeps_what_it_lists(tmp_path):
    """Whatever hides its shards, which `ingest`, `index` and `verify` say."""
    more = write_release(tmp_path / "more", "hidden")
    listed = {name: (more / name).read_bytes() for name in LISTS}
    releases = {kind: write_release(tmp_path / kind / "release", "hidden") for kind in KINDS}
    hidden = {kind: hide(kind, release) for kind, release in releases.items()}
    commands: list[tuple[str | Path, ...]] = []
    for release in releases.values():
        commands += [("ingest", more, "--db", release), ("index", release), ("verify", release)]
    try:
        outcomes = iter(run_without_rights(*commands))
    finally:
        for path in hidden.values():
            if path.exists():
                path.chmod(0o755)
    for kind, release in releases.items():
        ingest, index, verify = (next(outcomes) for _ in range(3))
        for code, out, errors in (index, verify, *([] if kind == "a shard" else [ingest])):
            assert (code, out, str(hidden[kind]) in errors) == (1, "", True), errors
        assert index[-1].count("\n") == 1, kind
        assert "sound, 0 measurements" in verify[-1], kind
        assert {name: (release / name).read_bytes() for name in LISTS} == listed, kind


@pytest.mark.slow
def test_a_release_among_others_is_named_where_it_cannot_be_read(tmp_path):
    hidden: dict[Path, Path] = {}
    for kind in ("folder", "manifest", "link"):
        database = tmp_path / kind
        write_release(database / "one", "one")
        release = path = write_release(database / "two", "two")
        if kind == "link":
            release.rename(tmp_path / "disk")
            path.symlink_to(tmp_path / "not_mounted")
        else:
            path = release / MANIFEST if kind == "manifest" else release
            path.chmod(0)
        hidden[database] = path
    commands: list[tuple[str | Path, ...]] = []
    for database in hidden:
        commands += [("releases", "--db", database), ("verify", database)]
        commands += [("ingest", database, "--db", database.with_name(f"into {database.name}"))]
    try:
        outcomes = iter(run_without_rights(*commands))
    finally:
        for path in hidden.values():
            path.unlink() if path.is_symlink() else path.chmod(0o755)
    for path in hidden.values():
        for code, out, errors in (next(outcomes), next(outcomes)):
            assert (code, out) == (1, ""), errors
            assert str(path) in errors
        code, _, errors = next(outcomes)
        assert (code, str(path) in errors) == (1, True), errors


def test_own_runs_that_cannot_be_read_are_not_left_out(tmp_path):
    logs, mapping = tmp_path / "logs", tmp_path / "mapping.toml"
    write(logs, {f"{run}/log.csv": "step,error\n0,0.5\n10,0.25\n" for run in ("first", "second")})
    mapping.write_text(mapping_text(files={"run": None, "name": '"{run}/log.csv"'}))
    (logs / "second").chmod(0)
    rest = ("--from", "csv", "--map", mapping, "--db", tmp_path / "into")
    try:
        outcomes = run_without_rights(
            ("ingest", logs, *rest),
            ("ingest", logs / "**" / "log.csv", *rest),
            ("ingest", "--guess", logs),
        )
    finally:
        (logs / "second").chmod(0o755)
    for code, out, errors in outcomes:
        assert (code, out) == (1, ""), errors
        assert f"{logs / 'second'}" in errors
        assert errors.count("\n") == 1


def test_a_disk_that_is_not_mounted_is_named_and_a_shard_that_is_gone_is_told(tmp_path):
    release = write_digits(tmp_path / "db" / "made-up")
    path, _ = shard_paths(release)
    manifest = (release / MANIFEST).read_text()
    away = (release / path).rename(tmp_path / "away.parquet")
    said: list[str] = []
    with telling_of_change(release, said.append):
        rebuild(release)
    [sentence] = said
    assert sentence == (
        f"1 shard of {release} such as {path} is not there any more and not listed: where they "
        f"come back, list them with `dbtool index {release}`"
    )
    (release / MANIFEST).write_text(manifest)
    (release / path).symlink_to(tmp_path / "disk" / "shard.parquet")
    told = "it is a link, and what it leads to is not there; mount the disk"
    assert any(told in str(problem) for problem in verify(release).problems)
    (release / path).unlink()
    away.rename(release / path)
    rebuild(release)
    (release / MANIFEST).unlink()
    (release / MANIFEST).symlink_to("/dev/zero")
    with pytest.raises(DbtoolError, match=r"manifest\.json cannot be read: it is not a file"):
        dbtool.open(tmp_path / "db")
