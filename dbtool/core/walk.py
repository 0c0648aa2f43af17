"""Lists folders; an unreadable entry is an error that names it, and does not count as missing."""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from glob import has_magic
from pathlib import Path, PurePath
from typing import Self

from dbtool.core.errors import DbtoolError

# A path that is too long, or that has a file in place of a folder, does not exist.
_ABSENT = {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG}


class AccessError(DbtoolError):
    """A file or folder, at `path`, that exists, or may exist, and cannot be read."""

    def __init__(self, sentence: str, path: Path) -> None:
        super().__init__(sentence)
        self.path = path

    def __reduce__(self) -> tuple[type[Self], tuple[str, Path]]:
        # Pickle restores an exception from its `args`, which lack the path.
        return type(self), (str(self), self.path)


def access_error(path: str | os.PathLike[str], error: OSError) -> AccessError:
    """Return the error for a path at which the operating system failed."""
    if isinstance(error, FileNotFoundError) and not Path(path).is_symlink():
        reason = "it is not there any more"
    elif isinstance(error, FileNotFoundError):
        reason = "it is a link, and what it leads to is not there; mount the disk or remove it"
    elif error.errno == errno.ELOOP:
        reason = "it is a link that leads back to itself; remove it"
    elif isinstance(error, PermissionError):
        reason = f"{error.strerror}; allow it"
    else:
        reason = f"{error.strerror}; check the disk that it is on"
    return AccessError(f"{os.fspath(path)} cannot be read: {reason}", Path(path))


def status_of(path: str | os.PathLike[str]) -> os.stat_result | None:
    """Return `os.stat` of a path, following links; None where the path does not exist.

    Raises:
        AccessError: the path leads through an unreadable folder, through links in a circle, or
            through one to a missing target, such as a disk that is not mounted.
    """
    try:
        return os.stat(path)  # noqa: PTH116 (paths of both kinds)
    except ValueError:  # a NUL in it
        return None
    except OSError as error:
        if error.errno not in _ABSENT:
            raise access_error(path, error) from error
        for part in (Path(path), *Path(path).parents):
            if part.is_symlink() and not part.exists():
                raise access_error(part, error) from error
        return None


def is_text(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is UTF-8; bytes that are not stand in it as halves of surrogates."""
    try:
        os.fspath(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def is_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a file, or a link to one; errors as for `status_of`."""
    status = status_of(path)
    return status is not None and stat.S_ISREG(status.st_mode)


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a folder, or a link to one; errors as for `status_of`."""
    status = status_of(path)
    return status is not None and stat.S_ISDIR(status.st_mode)


def entries(folder: str | os.PathLike[str]) -> list[os.DirEntry[str]]:
    """List a folder, sorted by name; empty where the folder is missing or is a file.

    Raises:
        AccessError: the folder cannot be read, or is a link to a missing target.
    """
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        is_link = os.path.islink(folder)  # noqa: PTH114 (paths of both kinds)
        if isinstance(error, NotADirectoryError) or (error.errno in _ABSENT and not is_link):
            return []
        raise access_error(folder, error) from error


def walk(
    top: str | os.PathLike[str],
    *,
    hidden: bool = True,
    on_error: Callable[[AccessError], None] | None = None,
) -> Iterator[os.DirEntry[str]]:
    """Yield the entries of a folder and its subfolders, folders included; links are not followed.

    Args:
        top: the folder.
        hidden: whether to yield and enter entries whose names begin with a dot.
        on_error: called with the error of each unreadable folder; None to raise the error.
    """
    # Folders may nest more deeply than Python can recurse.
    waiting = [os.fspath(top)]
    while waiting:
        try:
            found = entries(waiting.pop())
        except AccessError as error:
            if on_error is None:
                raise
            on_error(error)
            continue
        if not hidden:
            found = [entry for entry in found if not entry.name.startswith(".")]
        yield from found
        folders = [entry.path for entry in found if entry.is_dir(follow_symlinks=False)]
        waiting += reversed(folders)


def files_matching(folder: Path, pattern: str) -> Iterator[Path]:
    """Yield the files below a folder whose paths match a pattern such as `**/metrics.csv`.

    As in a shell, `*`, `?` and `[…]` match within a name and `**` matches any folders. None of them
    matches names that begin with a dot unless that part of the pattern does.

    Raises:
        AccessError: a folder that may have matching files cannot be read.
    """
    *parts, name = PurePath(pattern).parts
    folders = [folder]
    for part in parts:
        folders = list(dict.fromkeys(_folders(folders, part)))
    for each in folders:
        yield from (found for found in _matching(each, name) if is_file(found))


def _folders(above: list[Path], part: str) -> Iterator[Path]:
    for folder in above:
        if part == "**":
            yield folder
            below = walk(folder, hidden=False)
            yield from (Path(entry.path) for entry in below if entry.is_dir(follow_symlinks=False))
        else:
            yield from (found for found in _matching(folder, part) if is_folder(found))


def _matching(folder: Path, part: str) -> Iterator[Path]:
    if not has_magic(part):
        yield folder / part
        return
    for entry in entries(folder):
        if fnmatch(entry.name, part) and entry.name.startswith(".") <= part.startswith("."):
            yield folder / entry.name
