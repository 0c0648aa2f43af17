"""Files and folders that appear complete or not at all, and survive a power failure."""

import codecs
import contextlib
import errno
import fcntl
import hashlib
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from io import BufferedReader
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from dbtool.core.errors import DbtoolError, UsageError
from dbtool.core.walk import entries, is_file, is_text, walk

# Unfinished files begin with this, and unfinished folders also end with the suffix: each has a file
# of its name without the suffix, which stays locked for as long as its process lives.
_PREFIX, _FOLDER = ".writing-", ".folder"
# Unfinished folders of version 0.2, each of which stays locked itself.
_OLD_PREFIX = ".dbtool-unfinished-"
# The longer marks first, since they begin with a shorter one.
_MARKS = {
    **dict.fromkeys((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE), "utf-32"),
    **dict.fromkeys((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE), "utf-16"),
}
# File systems write many small files at once to the disk sooner than one after the other.
_SYNC_THREADS = 16
LARGEST_TEXT = 8_000_000
"""Limit on the bytes of a text that is read whole, much more than any that people write."""


def make_folder(folder: Path, instead: str) -> None:
    """Create a folder and its parents where they are missing.

    Raises:
        DbtoolError: the folder cannot be created; the message ends with what to do instead.
    """
    _require_text(folder, instead)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DbtoolError(
            f"cannot make the folder {folder}: {reason_of(error, folder)}; {instead}"
        ) from error


@contextlib.contextmanager
def made_folder(folder: Path, instead: str | None = None) -> Iterator[None]:
    """Create a folder and its parents; after the block, remove those of them that are empty.

    Errors are those of `make_folder`, or OSErrors without what to do instead.
    """
    missing = [each for each in (folder, *folder.parents) if not os.path.lexists(each)]
    if instead is None:
        folder.mkdir(parents=True, exist_ok=True)
    else:
        make_folder(folder, instead)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            for each in missing:
                each.rmdir()


def reason_of(error: OSError, path: Path) -> str:
    """Return why a path cannot be written to; where a file is in its way, which one."""
    if isinstance(error, FileExistsError | NotADirectoryError):
        for each in (path, *path.parents):
            if is_file(each):
                return f"{'it' if each == path else each} is a file"
    return error.strerror or str(error)


def _require_text(path: Path, instead: str) -> None:
    if not is_text(path):
        raise UsageError(f"{path} is not UTF-8 text: {instead}")


def url_of(given: str | os.PathLike[str]) -> str | None:
    """Return the URL of any kind that a location is; None where it is a path."""
    # pathlib turns // into /.
    found = re.match(r"(\w\w+):/+(.*)", os.fspath(given), re.DOTALL)
    return f"{found[1]}://{found[2]}" if found else None


def expanded(path: str | os.PathLike[str]) -> Path:
    """Return a path with a home folder in place of ~ or ~USER; a UsageError for a URL."""
    if url := url_of(path):
        raise UsageError(
            f"{url} is a URL: name a path of this machine, where `dbtool pull` takes releases from "
            "URLs of http:// and https://"
        )
    if "\0" in str(path):
        raise UsageError(f"the path {os.fspath(path)!r} has a NUL, which the name of no file has")
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise UsageError(
            f"{os.fspath(path)} begins with the home folder of a user that this machine does not "
            "know: write the whole path"
        ) from error


def open_file(path: str | Path, *, follow_links: bool = True) -> BufferedReader:
    """Open a file to read; raise an OSError for a pipe or a device instead of waiting for it."""
    flags = os.O_RDONLY | os.O_NONBLOCK | (0 if follow_links else os.O_NOFOLLOW)
    handle = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "it is not a file", str(path))
    return os.fdopen(handle, "rb")


def read_small(path: str | Path) -> bytes:
    """Return what a person or a tool wrote; an OSError where it is larger than `LARGEST_TEXT`."""
    with open_file(expanded(path)) as file:
        return read_to_end(file, str(path))


def read_to_end(file: BinaryIO, name: str) -> bytes:
    """Return the contents of an open file; an OSError where they exceed `LARGEST_TEXT`."""
    content = file.read(LARGEST_TEXT + 1)
    if len(content) > LARGEST_TEXT:
        raise OSError(errno.EFBIG, f"it is larger than {LARGEST_TEXT / 1e6:.0f} MB", name)
    return content


def encoding_of(start: bytes) -> str:
    """Return the encoding of a text that begins with these bytes: by its mark, or else UTF-8."""
    return next((name for mark, name in _MARKS.items() if start.startswith(mark)), "utf-8-sig")


def decoded(content: bytes) -> str:
    """Return a text in the encoding of Unicode that its mark names, or else in UTF-8."""
    return content.decode(encoding_of(content))


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file, in hexadecimal; an OSError where it is not a file."""
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def unfinished(folder: Path) -> Iterator[tuple[BinaryIO, Path]]:
    """Yield a new file in a folder and its temporary path; create the folder where it is missing.

    Both are removed after the block unless `finish` renamed the file.
    """
    path = folder / f"{_PREFIX}{secrets.token_hex(8)}"
    with made_folder(folder), _open_locked(path) as file:
        try:
            yield file, path
        finally:
            path.unlink(missing_ok=True)


def finish(file: BinaryIO, temporary: Path, path: Path) -> None:
    """Rename an unfinished file once all its bytes are on the disk."""
    file.flush()
    os.fsync(file.fileno())
    move(temporary, path)


def move(temporary: Path, path: Path) -> None:
    """Rename a file or a folder whose bytes are on the disk, so that its name is there too."""
    temporary.replace(path)
    _sync(path.parent)


def write_whole(path: Path, content: bytes) -> None:
    """Write or replace a file in one step; where that fails, an existing file is unchanged."""
    with unfinished(path.parent) as (file, temporary):
        file.write(content)
        finish(file, temporary, path)


def require_own(
    path: Path, is_own: Callable[[bytes], bool] = lambda content: b'content="dbtool ' in content
) -> None:
    """Raise a UsageError where a file is there that is not dbtool's own, by default its page."""
    content = b""
    with contextlib.suppress(OSError):  # It is not there, or cannot be replaced either.
        content = path.read_bytes()
    if content and not is_own(content):
        raise UsageError(
            f"{path} is not as dbtool wrote it, and would be replaced: move it away, or name "
            "another place with --out"
        )


def remove_files(folder: Path, paths: Iterable[str]) -> None:
    """Remove files of a folder where they are there, and the folders in it that become empty."""
    for path in paths:
        (folder / path).unlink(missing_ok=True)
        for above in list(PurePosixPath(path).parents)[:-1]:
            with contextlib.suppress(OSError):
                (folder / above).rmdir()


@contextlib.contextmanager
def whole_output(target: Path) -> Iterator[Path]:
    """Yield a temporary path for a file or folder, which gets its final name after the block.

    The path is in a hidden folder beside the target, because a rename is only atomic within one
    file system. What killed processes left beside the target is removed.

    Raises:
        DbtoolError: the target exists, its path is not UTF-8, or it cannot be written.
    """
    target, instead = expanded(target).absolute(), "name another one with --out"
    _require_text(target, instead)
    _require_free(target)
    try:
        _remove_abandoned(entries(target.parent))
        with made_folder(target.parent, instead), unfinished(target.parent) as (_, marker):
            # It is not abandoned while the marker exists.
            scratch = marker.with_suffix(_FOLDER)
            scratch.mkdir()
            try:
                made = scratch / target.name
                yield made
                _require_free(target)
                with ThreadPoolExecutor(_SYNC_THREADS) as pool:
                    list(pool.map(_sync, [made, *(Path(entry.path) for entry in walk(made))]))
                move(made, target)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise DbtoolError(
            f"could not write {target}: {reason}; free some space or name another one with --out, "
            "then run the same command again"
        ) from error


def remove_unfinished(folder: Path) -> None:
    """Remove the unfinished files of killed processes from a folder and its subfolders."""
    _remove_abandoned(walk(folder))


def _remove_abandoned(found: Iterable[os.DirEntry[str]]) -> None:
    for entry in found:
        path, is_new = Path(entry.path), entry.name.startswith(_PREFIX)
        is_folder = entry.is_dir(follow_symlinks=False)
        is_old = is_folder and entry.name.startswith(_OLD_PREFIX)
        if is_old or (is_new and entry.is_file(follow_symlinks=False)):
            _remove_unlocked(path)
        # The file of a folder is removed before it, as names are sorted, unless it is locked.
        elif is_new and is_folder and path.suffix == _FOLDER and not path.with_suffix("").exists():
            shutil.rmtree(path, ignore_errors=True)


def unfinished_folder(parent: Path) -> Path:
    """Return a new path of a folder that `remove_unfinished` takes for abandoned."""
    return parent / f"{_PREFIX}{secrets.token_hex(8)}{_FOLDER}"


def _remove_unlocked(path: Path) -> None:
    with contextlib.suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()
        finally:
            os.close(handle)


def _require_free(target: Path) -> None:
    if os.path.lexists(target):
        raise UsageError(f"{target} is there already: name another one with --out or remove it")


def _sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, would survive a power failure."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _open_locked(path: Path) -> BinaryIO:
    """Open a new file that `remove_unfinished` does not remove while it is open."""
    while True:
        file = path.open("xb")
        fcntl.flock(file, fcntl.LOCK_EX)
        # Another process may have removed it as abandoned before it was locked.
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()
