"""The files of a source as others publish it, from a folder or from tar files read as streams."""

from __future__ import annotations

import lzma
import re
import tarfile
import zlib
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, NamedTuple

from dbtool.core.errors import DbtoolError, UsageError
from dbtool.core.git_tree import tar_stream
from dbtool.core.walk import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# The largest file that is read whole; published ones are far smaller.
_MOST_BYTES = 256 << 20
_TAR = re.compile(r"\.(tar(\.\w+)?|tgz|txz)$")


class Member(NamedTuple):
    """A file of a source.

    Attributes:
        name: its path below the source.
        found: what the pattern found in the path.
        contents: all of it.
    """

    name: str
    found: re.Match[str]
    contents: bytes


def members(
    paths: Sequence[Path], pattern: re.Pattern[str], on_progress: Callable[[int, int], None]
) -> Iterator[Member]:
    """Yield the files whose path matches a pattern.

    Tar files, whether given or in a folder, are read once from front to back, and their members
    never lie on the disk. A file that ends in .xz is unpacked, and named without that.

    Args:
        paths: tar files, other files and folders.
        pattern: searched in the paths, which have forward slashes.
        on_progress: called with the number of bytes read, and of all.

    Raises:
        UsageError: there is no such path.
        DbtoolError: a file cannot be read, or is damaged.
    """
    files: list[tuple[str, Path]] = []
    for path in paths:
        if not path.exists():
            raise UsageError(f"there is no {path}")
        if path.is_dir():
            below = sorted(Path(entry.path) for entry in walk(path) if entry.is_file())
            files += ((file.relative_to(path).as_posix(), file) for file in below)
        else:
            files.append((path.name, path))
    total, done = sum(file.stat().st_size for _, file in files), 0
    for name, file in files:
        read = _tar_members if _TAR.search(name) else _file
        try:
            for member, at in read(file, name, pattern):
                yield member
                on_progress(done + at, total)
        except (OSError, EOFError, tarfile.TarError, lzma.LZMAError, zlib.error) as error:
            raise DbtoolError(f"{file} cannot be read to its end ({error}): get it anew") from error
        done += file.stat().st_size
        on_progress(done, total)


def _file(file: Path, name: str, pattern: re.Pattern[str]) -> Iterator[tuple[Member, int]]:
    if found := pattern.search(name.removesuffix(".xz")):
        with lzma.open(file) if name.endswith(".xz") else file.open("rb") as stream:
            contents = _whole(stream, name)
        yield Member(name.removesuffix(".xz"), found, contents), 0


def _tar_members(file: Path, name: str, pattern: re.Pattern[str]) -> Iterator[tuple[Member, int]]:
    with tar_stream(file) as (archive, packed):
        for header in archive:
            # It would keep the headers of all members.
            archive.members = []  # type: ignore[attr-defined]
            stream = archive.extractfile(header) if header.isfile() else None
            if stream is not None and (found := pattern.search(header.name)):
                path = PurePosixPath(name).parent / header.name
                yield Member(str(path), found, _whole(stream, header.name)), packed.tell()


def _whole(stream: IO[bytes], name: str) -> bytes:
    contents = stream.read(_MOST_BYTES + 1)
    if len(contents) > _MOST_BYTES:
        raise DbtoolError(f"{name} has more than {_MOST_BYTES >> 20} MiB, unlike published files")
    return contents
