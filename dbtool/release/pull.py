"""Downloads a release from a server, resumes after any failure, and keeps files complete."""

import contextlib
import hashlib
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbtool.core.download import DOWNLOADING, Downloader, RetryPolicy
from dbtool.core.errors import DbtoolError, UsageError
from dbtool.core.files import (
    expanded,
    made_folder,
    move,
    remove_files,
    remove_unfinished,
    write_whole,
)
from dbtool.core.http import as_url, without_secrets
from dbtool.core.index import TABLES
from dbtool.core.manifest import MANIFEST, SUMS, Manifest, ReleaseFile, is_release, read_manifest
from dbtool.core.release import locked, parse_index, shard_paths
from dbtool.core.walk import entries, is_folder, status_of
from dbtool.release.layout import sums
from dbtool.store.locations import folder_name, release_folder
from dbtool.store.remote import read_remote_manifest, release_url, remote_file
from dbtool.store.shard_files import fault

# The folder of files until all have arrived.
_COMING = ".pulling"
_OTHER = "choose another folder with --out"


@dataclass(frozen=True)
class Pulled:
    """A release that was downloaded and checked.

    Attributes:
        folder: the release folder.
        manifest: its manifest.
        files: number of downloaded files.
        bytes: their total size.
        removed: number of shards that were in the folder and are not in the release.
    """

    folder: Path
    manifest: Manifest
    files: int
    bytes: int
    removed: int


def pull(
    url: str,
    folder: str | os.PathLike[str] | None = None,
    retries: RetryPolicy | None = None,
    on_progress: Callable[[str, int, int | None], None] = lambda _what, _done, _total: None,
) -> Pulled:
    """Download a release, or the missing files of a release folder.

    Files arrive in a hidden folder and get their names once all are complete, the manifest last, so
    that an older version of the release stays intact meanwhile. After a failure or a kill, the next
    call resumes.

    Args:
        url: URL of the release folder or its manifest.
        folder: target folder, created where it is missing; None for one in the current folder with
            the name of the release.
        retries: when to retry the server.
        on_progress: called with DOWNLOADING, the bytes received of all files and their total.

    Raises:
        UsageError: the URL is malformed or a path of this machine, or the folder holds something
            else.
        DbtoolError: the server does not have the release, the disk is too small or not writable, or
            another process writes to the folder.

    Example:
        >>> dbtool.pull("https://example.org/my-release/", "my-release").files
        17
    """
    if as_url(url) is None and status_of(local := release_folder(url)) is not None:
        raise UsageError(
            f"{local} is on this machine: read it with `--db {local}`, add it to your own releases "
            f"with `dbtool ingest {local}`, or copy the folder"
        )
    url = release_url(url)
    with Downloader(retries, _OTHER) as downloader:
        manifest, text = read_remote_manifest(downloader, url)
        _check_paths(manifest, url)
        folder = expanded(folder or folder_name(manifest.release))
        _check_folder(folder, manifest.release)
        with (
            made_folder(folder / _COMING, _OTHER),
            locked(folder, 0.0, f"wait until it has ended, or {_OTHER}"),
        ):
            remove_unfinished(folder)
            missing = [file for file in manifest.files if fault(folder, file) is not None]
            done, total = 0, sum(file.bytes for file in missing)

            def of_all(what: str, of_file: int, _size: int | None) -> None:
                if what == DOWNLOADING:
                    on_progress(what, done + of_file, total)

            for file in missing:
                came = _came(folder, file)
                downloader.download(remote_file(url, file), came, of_all)
                done += file.bytes
            index = {
                file.path: _came(folder, file) if file in missing else folder / file.path
                for file in manifest.files
                if file.path in TABLES
            }
            contents = {name: path.read_bytes() for name, path in index.items()}
            parse_index(contents, manifest, without_secrets(url))
            before = set(shard_paths(folder))
            _replace(folder, manifest, text, missing)
            removed = before.difference(shard_paths(folder))
    return Pulled(folder, manifest, len(missing), total, len(removed))


def _replace(folder: Path, manifest: Manifest, text: bytes, came: Sequence[ReleaseFile]) -> None:
    """Rename the new files into the release, the manifest last, and remove those of the old one."""
    _remove_gone(folder)
    if is_release(folder):
        # This copy lists the files to remove, also after a kill.
        write_whole(folder / _COMING / MANIFEST, (folder / MANIFEST).read_bytes())
    for file in came:
        (folder / file.path).parent.mkdir(parents=True, exist_ok=True)
        move(_came(folder, file), folder / file.path)
    write_whole(folder / SUMS, sums(manifest).encode())
    write_whole(folder / MANIFEST, text)
    _remove_gone(folder)
    shutil.rmtree(folder / _COMING, ignore_errors=True)


def _remove_gone(folder: Path) -> None:
    with contextlib.suppress(DbtoolError):
        before, now = read_manifest(folder / _COMING), read_manifest(folder)
        remove_files(folder, before.paths - now.paths)


def _check_paths(manifest: Manifest, url: str) -> None:
    """Raise an error for hidden files and for paths that a release folder uses itself."""
    for path in (file.path for file in manifest.files):
        if path.startswith(".") or path in {MANIFEST, SUMS}:
            raise DbtoolError(
                f"the manifest of {without_secrets(url)} lists {path}, which no release has: tell "
                "whoever hosts it"
            )


def _check_folder(folder: Path, release: str) -> None:
    """Raise an error for a folder with other contents, or with local additions to the release."""
    if not is_folder(folder) and status_of(folder) is not None:
        raise UsageError(f"{folder} is a file: {_OTHER}")
    if not is_release(folder):
        if is_folder(folder / _COMING) or not entries(folder):
            return
        raise UsageError(f"{folder} holds something else: {_OTHER}")
    try:
        held = read_manifest(folder)
    except DbtoolError:
        return  # it is damaged, and is downloaded again
    if held.release != release:
        raise UsageError(f"{folder} holds another release, {held.release}: {_OTHER}")
    with contextlib.suppress(DbtoolError):
        if read_manifest(folder / _COMING) == held:
            return  # its files were being replaced
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if (folder / SUMS).read_text() == sums(held):
            return
    raise UsageError(
        f"{folder} holds the release {release} with what was added to it here, which would be "
        f"lost: {_OTHER}"
    )


def _came(folder: Path, file: ReleaseFile) -> Path:
    """Return the path of a file until all have arrived, under a name that no other file has."""
    name = hashlib.sha256(f"{file.sha256} {file.path}".encode()).hexdigest()
    return folder / _COMING / name[:32]
