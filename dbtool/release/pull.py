"""Takes a whole published release from a server: resumed after any failure, each file whole."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dbtool.archive.download.digest import sha256_of, write_whole
from dbtool.archive.download.fetch import fetch
from dbtool.archive.download.source import Source, parse_address
from dbtool.archive.download.watch import FETCHING, Patience, Watch
from dbtool.errors import DbtoolError, UsageError
from dbtool.locks import lock
from dbtool.store.published.layout import MANIFEST, SUMS
from dbtool.store.published.manifest import is_published, parse_published, read_published, sums
from dbtool.store.remote.places import file_address, folder_address
from dbtool.store.remote.web import WebPlace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dbtool.store.published.manifest import PublishedFile, PublishedManifest

_PATIENCE = Patience()
_UNWATCHED = Watch()
# What came of files that are not in their places yet.
_COMING = ".pulling"
_NO_NAME = re.compile(r"[^\w.-]+")


@dataclass(frozen=True)
class Pulled:
    """A release that is there and right.

    Attributes:
        folder: where it is.
        manifest: what it is.
        files: how many files came.
        bytes: how much they hold.
    """

    folder: Path
    manifest: PublishedManifest
    files: int
    bytes: int


def pull(
    url: str, out: Path | None = None, watch: Watch = _UNWATCHED, patience: Patience = _PATIENCE
) -> Pulled:
    """Takes a release, or what a folder lacks of it.

    Files come into a hidden folder and go to their places once all are there, so that an older
    state of the release stays whole meanwhile. What a failure or a kill leaves is gone on with.

    Args:
        url: the release's folder, or its manifest.
        out: the folder to put it in, which is made; None: one named like the release, here.
        watch: whom to tell how far it is.
        patience: how long the server is tried.

    Raises:
        UsageError: the URL is malformed, or the folder holds something else.
        DbtoolError: the server does not give the release, the disk is too small or cannot be
            written, or another process pulls into the folder.
    """
    address = folder_address(url)
    place = WebPlace(address, patience)
    try:
        text = place.manifest()
    finally:
        place.close()
    manifest = parse_published(text, f"{place.name}{MANIFEST}")
    named = _NO_NAME.sub("-", manifest.release).strip(".-") or "release"
    folder = out if out is not None else Path(named)
    before = _before(folder, manifest)
    with _coming(folder) as coming:
        missing = [file for file in manifest.files if not _is_there(folder, file)]
        _fetch_all(address, coming, missing, watch, patience)
        with _writing(folder):
            for file in missing:
                _put(coming / _name(file), folder / file.path)
            _remove_old(folder, before, manifest)
            write_whole(folder / SUMS, sums(manifest).encode())
            write_whole(folder / MANIFEST, text)
    return Pulled(folder, manifest, len(missing), sum(file.bytes for file in missing))


def _before(folder: Path, manifest: PublishedManifest) -> PublishedManifest | None:
    """The state of the release that the folder holds; None where it holds none that is whole.

    Raises:
        UsageError: it holds something else.
    """
    if not folder.exists():
        return None
    if not folder.is_dir():
        raise UsageError(f"{folder} is a file: choose another folder with --out")
    found = None
    with contextlib.suppress(DbtoolError):
        found = read_published(folder)
    if found is not None and found.release != manifest.release:
        raise UsageError(
            f"{folder} holds another release, {found.release}: choose another folder with --out"
        )
    empty = not any(folder.iterdir())
    if found is None and not empty and not (folder / _COMING).is_dir() and not is_published(folder):
        raise UsageError(f"{folder} holds something else: choose another folder with --out")
    return found


@contextlib.contextmanager
def _coming(folder: Path) -> Iterator[Path]:
    """The hidden folder, held for one process; it is removed once the block is through.

    Raises:
        DbtoolError: it cannot be made, or another process is at work there.
    """
    coming = folder / _COMING
    with _writing(folder):
        coming.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = lock(coming, os.O_RDONLY | os.O_DIRECTORY)
        except BlockingIOError as error:
            raise DbtoolError(
                f"another process pulls into {folder}: wait until it has ended"
            ) from error
    try:
        yield coming
        shutil.rmtree(coming, ignore_errors=True)
    finally:
        os.close(descriptor)


def _is_there(folder: Path, file: PublishedFile) -> bool:
    """Whether a file is in its place and right."""
    path = folder / file.path
    try:
        if not path.is_file() or path.stat().st_size != file.bytes:
            return False
        return sha256_of(path, lambda _done, _total: None) == file.sha256
    except OSError:
        return False


def _fetch_all(
    address: str,
    coming: Path,
    missing: Sequence[PublishedFile],
    watch: Watch,
    patience: Patience,
) -> None:
    """Fetches files into the hidden folder.

    Raises:
        DbtoolError: that failed; what came is kept.
    """
    before, total = 0, sum(file.bytes for file in missing)
    for file in missing:
        places = (parse_address(file_address(address, file.path)),)
        source = Source(file.path, file.sha256, places, file.bytes)
        try:
            fetch(source, coming / _name(file), _shifted(watch, before, total), patience)
        except DbtoolError as error:
            # Fetching is a command of its own, with options of its own.
            told = str(error).replace("another place with --dest", "another folder with --out")
            told = told.replace("try again later or name another address with --mirror", _AGAIN)
            raise DbtoolError(told) from error
        before += file.bytes


_AGAIN = "give the same command again to go on"


def _shifted(watch: Watch, before: int, total: int) -> Watch:
    """A watch of one file that tells of all of them."""

    def on_progress(what: str, done: int, _size: int | None) -> None:
        if what == FETCHING:
            watch.on_progress(what, before + done, total)

    return Watch(on_progress, watch.on_retry)


def _name(file: PublishedFile) -> str:
    """The name of a file in the hidden folder, which no other file has, nor another state of it."""
    return hashlib.sha256(f"{file.sha256} {file.path}".encode()).hexdigest()[:32]


def _put(came: Path, path: Path) -> None:
    """Gives a file its place.

    Raises:
        OSError: that failed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    came.replace(path)


def _remove_old(
    folder: Path, before: PublishedManifest | None, manifest: PublishedManifest
) -> None:
    """Removes files that the older state of a release had and this one has not."""
    now = {file.path for file in manifest.files}
    for file in before.files if before is not None else ():
        if file.path not in now:
            (folder / file.path).unlink(missing_ok=True)


@contextlib.contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Turns a failure to write into a sentence.

    Raises:
        DbtoolError: the block could not write.
    """
    try:
        yield
    except OSError as error:
        raise DbtoolError(
            f"cannot write {folder}: {error.strerror}; what came is kept, mend that and give the "
            "same command again to go on, or choose another folder with --out"
        ) from error
