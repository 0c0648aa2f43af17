"""Checks release folders, shards and databases, and says what is wrong and what mends it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbtool.errors import DbtoolError, UsageError
from dbtool.release.database_faults import database_faults
from dbtool.release.manifest import MANIFEST, read_manifest
from dbtool.release.published_faults import published_faults
from dbtool.release.reduction import REDUCED_KEY
from dbtool.store.contract import parse_shard_name
from dbtool.store.published.layout import CROISSANT, table_path
from dbtool.store.published.manifest import is_published
from dbtool.store.shards import ShardError, read_shard

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dbtool.release.manifest import ReleaseFile

_GET_ANEW = "get the release anew, or `git checkout` it in a checkout"
_WRITE_ANEW = "remove it and run the `dbtool produce` command that wrote it again"
_LOAD_ANEW = "move the file away and load it anew with `dbtool ingest` or `dbtool import`"
_KINDS = "a release folder, its manifest.json, a folder of shards, a shard or a database"
_DATABASE_SUFFIXES = {".duckdb", ".ddb", ".db"}
_ARCHIVE_ENDINGS = (".tar", ".tar.bz2")
# DuckDB's files begin with a checksum of 8 bytes and these letters, Parquet's with these.
_DUCKDB_LETTERS = b"DUCK"
_PARQUET_LETTERS = b"PAR1"


@dataclass(frozen=True)
class Problem:
    """Something that is wrong.

    Attributes:
        path: the file or folder.
        reason: what is wrong with it.
        mend: what to do; None where the reason names the file and what mends it.
    """

    path: Path
    reason: str
    mend: str | None

    def __str__(self) -> str:
        return self.reason if self.mend is None else f"{self.path}: {self.reason}; {self.mend}"


@dataclass(frozen=True)
class Verified:
    """What was checked.

    Attributes:
        shards: shards that are sound.
        releases: published releases that are sound.
        databases: databases that are sound.
        measurements: rows of these.
        problems: what is wrong.
    """

    shards: int
    releases: int
    databases: int
    measurements: int
    problems: tuple[Problem, ...]


def verify(path: Path) -> Verified:
    """Checks every byte of a release folder, a folder of shards, a shard or a database.

    In a folder, each release (a folder with a manifest.json) is held against its manifest, and the
    rows of a published one against each other; shards that belong to none are checked against the
    digest in their name, and refused where they were written as part of a release, whose manifest
    is then missing. Temporary files, whose names begin with a dot, are passed over outside of
    releases. A manifest stands for its folder.

    Raises:
        UsageError: when there is nothing of the kind at that path.
    """
    if not path.exists():
        raise UsageError(f"there is no {path}; give {_KINDS}")
    if not path.is_dir():
        return _verify_file(path)
    releases = _releases(path)
    outcomes = [_verify_release(release) for release in releases]
    loose = [
        shard
        for shard in _files(path, "*.parquet")
        if not shard.name.startswith(".") and not _inside(shard, releases)
    ]
    outcomes += [_verify_shard(shard, in_folder=True) for shard in loose]
    if not outcomes:
        raise UsageError(f"{path} holds no release and no shards; `dbtool produce` writes shards")
    return _together(outcomes)


def _releases(path: Path) -> list[Path]:
    """The release folders at and below a path, those without a manifest that were published too."""
    found = {manifest.parent for manifest in path.rglob(MANIFEST)}
    found |= {mark.parent for mark in path.rglob(CROISSANT)}
    found |= {mark.parent.parent for mark in path.rglob(table_path("workloads"))}
    return sorted(
        folder
        for folder in found
        if folder.is_relative_to(path) and not _is_hidden(folder.relative_to(path))
    )


def _is_hidden(place: Path) -> bool:
    return any(part.startswith(".") for part in place.parts)


def _verify_file(path: Path) -> Verified:
    """Checks one file as what its name or, under any other name, its first letters say it is.

    Raises:
        UsageError: when it is nothing that can be checked.
    """
    if path.name == MANIFEST:
        return _verify_release(path.parent)
    letters = _first_letters(path)
    if path.suffix == ".parquet" or parse_shard_name(path.name) or letters[:4] == _PARQUET_LETTERS:
        return _verify_shard(path)
    if path.suffix in _DATABASE_SUFFIXES or letters[8:] == _DUCKDB_LETTERS:
        return _verify_database(path)
    if path.name.endswith(_ARCHIVE_ENDINGS):
        raise UsageError(f"{path} is an archive; `dbtool import {path}` checks it as it loads it")
    raise UsageError(f"{path} is none of what can be checked; give {_KINDS}")


def _first_letters(path: Path) -> bytes:
    """The first 12 bytes of a file; none of what is no plain file, which may never end."""
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        return file.read(12)


def _verify_shard(path: Path, *, in_folder: bool = False) -> Verified:
    """Checks a shard; one of a release that lies in a folder must have a manifest above it."""
    try:
        shard = read_shard(path)
    except ShardError as error:
        return _one_problem(path, error.reason, _WRITE_ANEW)
    if in_folder and REDUCED_KEY in shard.producer:
        reason = f"it is part of the release {shard.study['release']}, whose {MANIFEST} is missing"
        return _one_problem(path, reason, _GET_ANEW)
    return Verified(1, 0, 0, shard.rows, ())


def _verify_release(folder: Path) -> Verified:
    """Holds a release folder against its manifest, both ways."""
    if is_published(folder):
        return _verify_published(folder)
    try:
        manifest = read_manifest(folder)
    except DbtoolError as error:
        return _one_problem(folder / MANIFEST, f"{error}; nothing else was checked", None)
    listed = {folder / file.path: file for file in manifest.files}
    present = set(_files(folder, "*")) - {folder / MANIFEST}
    problems = [
        Problem(path, "the manifest does not list it", "remove it")
        for path in sorted(present - set(listed))
    ]
    outcomes = [Verified(0, 0, 0, 0, tuple(problems))]
    for path, file in sorted(listed.items()):
        outcomes.append(_verify_listed(path, file))
    return _together(outcomes)


def _verify_published(folder: Path) -> Verified:
    found = published_faults(folder)
    problems = tuple(Problem(*each) for each in found.faults)
    return Verified(0, 0 if problems else 1, 0, found.measurements, problems)


def _verify_listed(path: Path, file: ReleaseFile) -> Verified:
    if not path.is_file():
        return _one_problem(path, "it is missing", _GET_ANEW)
    try:
        shard = read_shard(path)
    except ShardError as error:
        return _one_problem(path, error.reason, _GET_ANEW)
    found = (
        shard.sha256,
        path.stat().st_size,
        shard.study["workload"]["workload"],
        shard.study["batch_size"],
        len(shard.trials),
        shard.rows,
    )
    expected = (
        *(file.sha256, file.bytes, file.workload),
        *(file.batch_size, file.trials, file.measurements),
    )
    if found != expected:
        return _one_problem(path, "it is not the file that the manifest lists", _GET_ANEW)
    return Verified(1, 0, 0, shard.rows, ())


def _verify_database(path: Path) -> Verified:
    try:
        found = database_faults(path)
    except DbtoolError as error:
        return _one_problem(path, str(error), None)
    problems = tuple(Problem(path, reason, _LOAD_ANEW) for reason in found.reasons)
    return Verified(0, 0, 0 if problems else 1, found.measurements, problems)


def _one_problem(path: Path, reason: str, mend: str | None) -> Verified:
    return Verified(0, 0, 0, 0, (Problem(path, reason, mend),))


def _files(folder: Path, pattern: str) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob(pattern)) if path.is_file())


def _inside(path: Path, folders: list[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _together(outcomes: list[Verified]) -> Verified:
    return Verified(
        sum(outcome.shards for outcome in outcomes),
        sum(outcome.releases for outcome in outcomes),
        sum(outcome.databases for outcome in outcomes),
        sum(outcome.measurements for outcome in outcomes),
        tuple(problem for outcome in outcomes for problem in outcome.problems),
    )
