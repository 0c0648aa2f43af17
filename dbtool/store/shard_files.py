"""The shards of a release folder: checked against its manifest before their use, and copied.

DuckDB does not check a Parquet file for damage. So each file is read in full; its hash is compared
with the manifest, and its footer with its path and rows there. The user's cache records sound files
by size, times and inode. So the check takes a second per gigabyte once, and only a look at each
file from then on.
"""

import contextlib
import hashlib
import json
import os
import stat
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import platformdirs

from dbtool.core.errors import DbtoolError, UsageError
from dbtool.core.files import finish, open_file, sha256_of, unfinished, write_whole
from dbtool.core.footer import Footer, FooterError
from dbtool.core.manifest import Manifest, ReleaseFile, is_release, lack_of_release, read_manifest
from dbtool.core.release import shard_paths
from dbtool.core.shards import Shard, check_shard, placed_shard, read_footer
from dbtool.core.walk import access_error, status_of

_BLOCK = 1 << 20
_THREADS = min(8, os.cpu_count() or 1)
_Made = TypeVar("_Made")
# Two changes of a file within one tick of the file system's clock have the same time.
_TICK_NS = 2 * 10**9


def fault(folder: Path, file: ReleaseFile) -> str | None:
    """Return the fault of a file of a release; None where it is sound. Errors as of `status_of`."""
    path = folder / file.path
    status = status_of(path)
    if status is None:
        return "it is missing"
    if not stat.S_ISREG(status.st_mode):
        return "it is not a file"
    if status.st_size != file.bytes:
        return f"it has {status.st_size:,} bytes and should have {file.bytes:,}"
    try:
        sha256 = sha256_of(path)
    except OSError as error:
        raise access_error(path, error) from error
    return None if sha256 == file.sha256 else "its contents are not those that the manifest lists"


def in_threads(
    work: Callable[[ReleaseFile], _Made],
    files: Sequence[ReleaseFile],
    on_progress: Callable[[int, int], None],
) -> list[_Made]:
    """Apply a function to files in threads; return the results in order.

    Progress is the bytes done and the total bytes. An error in one call ends all.
    """
    total, done = sum(file.bytes for file in files), 0
    found = []
    with ThreadPoolExecutor(_THREADS) as pool:
        try:
            for file, made in zip(files, pool.map(work, files), strict=True):
                found.append(made)
                done += file.bytes
                on_progress(done, total)
        finally:
            pool.shutdown(cancel_futures=True)
    return found


class ShardCheck:
    """A check that the shards of a release folder are sound; threads may share it.

    A sound shard is read again only after it has changed.
    """

    def __init__(self, folder: Path, shards: Sequence[ReleaseFile]) -> None:
        self._folder = folder
        self._shards = shards
        name = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:32]
        self._memory = platformdirs.user_cache_path("dbtool") / "sound" / f"{name}.json"
        self._sound: dict[str, Any] | None = None

    def require_sound(self, on_progress: Callable[[int, int], None]) -> None:
        """Raise an error where a shard is missing, cut short or altered."""
        if self._sound is None:
            self._sound = self._remembered()
        known = self._sound
        now = time.time_ns()
        states = {file.path: self._state(file) for file in self._shards}
        left = [file for file in self._shards if known.get(file.path) != states[file.path]]
        if not left:
            return
        in_threads(lambda file: sound_shard(self._folder, file, read_footer), left, on_progress)
        self._sound = {
            path: state for path, state in states.items() if state and state[-1] < now - _TICK_NS
        }
        # Without write access to the cache, everything is checked again next time.
        with contextlib.suppress(OSError):
            write_whole(self._memory, json.dumps(self._sound).encode())

    def _remembered(self) -> dict[str, Any]:
        try:
            known = json.loads(self._memory.read_bytes())
        except (OSError, ValueError, RecursionError):
            return {}
        return known if isinstance(known, dict) else {}

    def _state(self, file: ReleaseFile) -> list[Any]:
        """Return what changes when a file is written or replaced, with the hash it should have."""
        try:
            found = os.stat(f"{self._folder}/{file.path}")  # noqa: PTH116 (faster; there are many)
        except OSError:
            return []
        return [file.sha256, found.st_size, found.st_ino, found.st_mtime_ns, found.st_ctime_ns]


def read_whole(folder: Path) -> Manifest:
    """Read the manifest of a release folder; a shard that it does not list is a DbtoolError."""
    if not is_release(folder):
        raise UsageError(f"{folder} {lack_of_release(folder)}")
    manifest = read_manifest(folder)
    left_out = set(shard_paths(folder)) - {file.path for file in manifest.shards}
    if left_out:
        raise DbtoolError(
            f"{folder / min(left_out)} is not listed in the release, as a command at work or a "
            f"killed one leaves it: wait for the one, or list it with `dbtool index {folder}`"
        )
    return manifest


def sound_shard(
    folder: Path, file: ReleaseFile, read: Callable[[Path], Footer] = check_shard
) -> Shard:
    """Return a shard as `checked_shard` does; its errors name the file and the remedy."""
    try:
        return checked_shard(folder, file, read)
    except FooterError as error:
        raise _damaged(folder, file, str(error)) from error


def checked_shard(
    folder: Path, file: ReleaseFile, read: Callable[[Path], Footer] = check_shard
) -> Shard:
    """Return a shard whose bytes match the manifest and whose rows match its footer.

    Reading with `read_footer` leaves out the rows. A FooterError does not name the file.
    """
    if reason := fault(folder, file):
        raise FooterError(reason)
    return listed_shard(file, read(folder / file.path))


def listed_shard(file: ReleaseFile, footer: Footer) -> Shard:
    """Return a shard; raise a FooterError where its path or rows in a manifest are others."""
    shard = placed_shard(file.path, file.sha256, file.bytes, footer)
    if file.rows != shard.rows:
        raise FooterError(f"it has {shard.rows:,} rows and the manifest lists {file.rows or 0:,}")
    return shard


def copy_shard(folder: Path, shard: Shard, into: Path) -> None:
    """Copy a shard into another release folder; damage to one file does not reach the other.

    Raises:
        DbtoolError: the bytes differ from those that were checked.
    """
    path = into / shard.path
    digest = hashlib.sha256()
    with open_file(folder / shard.path) as source, unfinished(path.parent) as (target, temporary):
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
