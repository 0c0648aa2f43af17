"""Shards of release folders: checked against the manifest, and copied."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from dbtool.core.contract import shard_path
from dbtool.core.errors import DbtoolError, UsageError
from dbtool.core.files import finish, open_file, unfinished
from dbtool.core.footer import FooterError
from dbtool.core.manifest import is_release, lack_of_release, read_manifest
from dbtool.core.release import shard_paths
from dbtool.core.shards import Shard, check_shard
from dbtool.store.soundness import fault

if TYPE_CHECKING:
    from pathlib import Path

    from dbtool.core.manifest import Manifest, ReleaseFile

_BLOCK = 1 << 20


def read_whole(folder: Path) -> Manifest:
    """Read the manifest of a release folder, and check that it lists all shards there.

    Raises:
        UsageError: the path is not a release folder.
        DbtoolError: the manifest is damaged, or lacks a shard.
    """
    if not is_release(folder):
        raise UsageError(f"{folder} {lack_of_release(folder)}")
    manifest = read_manifest(folder)
    left_out = set(shard_paths(folder)) - {file.path for file in manifest.shards}
    if left_out:
        raise DbtoolError(
            f"{folder / min(left_out)} is not listed in the release, as a killed command leaves "
            f"it: list it with `dbtool index {folder}`"
        )
    return manifest


def sound_shard(folder: Path, file: ReleaseFile) -> Shard:
    """Return a shard of a release after checking it.

    Raises:
        DbtoolError: the shard is not sound, see `checked_shard`.
    """
    try:
        return checked_shard(folder, file)
    except FooterError as error:
        raise _damaged(folder, file, str(error)) from error


def checked_shard(folder: Path, file: ReleaseFile) -> Shard:
    """Return a shard whose bytes match the manifest and whose rows match its footer.

    Args:
        folder: the release folder.
        file: entry of the manifest.

    Raises:
        FooterError: the shard is damaged or out of contract; the message does not name the file.
    """
    reason = fault(folder, file)
    if reason is not None:
        raise FooterError(reason)
    footer = check_shard(folder / file.path)
    shard = Shard(file.path, file.sha256, file.bytes, footer)
    study = footer.study
    if file.path != shard_path(study.workload.workload, study.batch_size, file.sha256):
        raise FooterError("its name is not that of its study and its contents")
    if file.rows != shard.rows:
        raise FooterError(f"it has {shard.rows:,} rows and the manifest lists {file.rows or 0:,}")
    return shard


def copy_shard(folder: Path, shard: Shard, into: Path) -> None:
    """Copy a shard into another release folder.

    It is not a hard link, since damage to one file would damage the other.

    Raises:
        OSError: the copy cannot be written.
        DbtoolError: the bytes differ from those that were checked.
    """
    path = into / shard.path
    digest = hashlib.sha256()
    with (
        open_file(folder / shard.path) as source,
        unfinished(path.parent) as (target, temporary),
    ):
        while block := source.read(_BLOCK):
            digest.update(block)
            target.write(block)
        if digest.hexdigest() != shard.sha256:
            raise _damaged(folder, shard.listed, "it changed while it was copied")
        finish(target, temporary, path)


def _damaged(folder: Path, file: ReleaseFile, reason: str) -> DbtoolError:
    return DbtoolError(
        f"{folder / file.path} is damaged: {reason}; `dbtool verify {folder}` names all that is; "
        "get the release anew"
    )
