"""The files of a source as others publish it, from a folder or from tar files read as streams."""

from __future__ import annotations

import lzma
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from dbtool.core.errors import DbtoolError, UsageError, joined
from dbtool.core.walk import walk
from dbtool.sources.tar_stream import tar_headers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# The largest file that is read whole; published ones are far smaller.
_MOST_BYTES = 256 << 20
_TAR = re.compile(r"\.(tar(\.\w+)?|tgz|txz)$")


class PublishedFile(NamedTuple):
    """A file of a source.

    Attributes:
        name: its path below the source.
        found: what the pattern found in the path.
        contents: all of it.
    """

    name: str
    found: re.Match[str]
    contents: bytes


def published_files(
    paths: Sequence[Path], pattern: re.Pattern[str], on_progress: Callable[[int, int], None]
) -> Iterator[PublishedFile]:
    """Yield the files whose path matches a pattern.

    Tar files, whether given or in a folder, are read once from front to back, and their members
    never lie on the disk. A file that ends in .xz is unpacked, and named without that.

    Args:
        paths: tar files, other files and folders.
        pattern: searched in the paths, which have forward slashes.
        on_progress: called with the number of bytes read, and of all.

    Raises:
        UsageError: there is no such path, or no file whose path matches.
        DbtoolError: a file cannot be read, or is damaged.
    """
    files: list[tuple[str, Path]] = []
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path} does not exist: name an archive, a file or a folder")
        if path.is_dir():
            below = sorted(Path(entry.path) for entry in walk(path) if entry.is_file())
            files += ((file.relative_to(path).as_posix(), file) for file in below)
        else:
            files.append((path.name, path))
    total, done = sum(file.stat().st_size for _, file in files), 0
    is_empty = True
    for name, file in files:
        is_tar = _TAR.search(name)
        for found, at in _tar_files(file, name, pattern) if is_tar else _file(file, name, pattern):
            is_empty = False
            yield found
            on_progress(done + at, total)
        done += file.stat().st_size
        on_progress(done, total)
    if is_empty:
        raise UsageError(
            f"{joined(map(str, paths), 'and')} has none of the files that it should: name an "
            "archive (.tar, .tar.gz or .tar.xz), or a folder of its files"
        )


def _file(file: Path, name: str, pattern: re.Pattern[str]) -> Iterator[tuple[PublishedFile, int]]:
    if found := pattern.search(name.removesuffix(".xz")):
        try:
            with lzma.open(file) if name.endswith(".xz") else file.open("rb") as stream:
                contents = stream.read(_MOST_BYTES + 1)
        except (OSError, EOFError, lzma.LZMAError) as error:
            raise DbtoolError(f"{file} cannot be read to its end ({error}): get it anew") from error
        _check_size(name, len(contents))
        yield PublishedFile(name.removesuffix(".xz"), found, contents), 0


def _tar_files(
    file: Path, name: str, pattern: re.Pattern[str]
) -> Iterator[tuple[PublishedFile, int]]:
    """Yield the files that match, and how many bytes of the tar file have been read."""
    at = 0

    def on_progress(done: int, _total: int) -> None:
        nonlocal at
        at = done

    for header, stream in tar_headers(file, on_progress):
        if header.isfile() and (found := pattern.search(header.name)):
            _check_size(header.name, header.size)
            path = PurePosixPath(name).parent / header.name
            yield PublishedFile(str(path), found, stream.read(header.size)), at


def _check_size(name: str, size: int) -> None:
    if size > _MOST_BYTES:
        raise DbtoolError(f"{name} has more than {_MOST_BYTES >> 20} MiB, unlike published files")
