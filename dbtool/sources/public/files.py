"""The files of a source as others publish it, read from folders or tar files, and git's id of them.

A host packs the same commit differently from day to day, so that an archive has no digest to be
checked by; the id of the commit's tree is the same for ever.
"""

import hashlib
import lzma
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from dbtool.core.errors import DbtoolError, UsageError, joined
from dbtool.core.walk import walk
from dbtool.sources.tar_stream import UnreadableError, tar_headers

# The largest file that is read whole; published ones are far smaller.
_MOST_BYTES = 256 << 20
_TAR = re.compile(r"\.(tar(\.\w+)?|tgz|txz)$")
PublishedFile: TypeAlias = tuple[str, re.Match[str], bytes]
_Tree: TypeAlias = "dict[str, _Tree | tuple[bytes, bytes]]"
_BLOCK = 1 << 20


def published_files(
    paths: Sequence[Path], pattern: re.Pattern[str], on_progress: Callable[[int, int], None]
) -> Iterator[PublishedFile]:
    """Yield the path of each file that matches a pattern, the match, and the file's contents.

    Tar files, whether given or in a folder, are read once from front to back, and their members
    never lie on the disk. A file that ends in .xz is unpacked, and named without that.

    Paths have forward slashes. Progress is the number of bytes read, and of all.

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

    def on_read(of_file: int, _total: int) -> None:
        on_progress(done + of_file, total)

    for name, file in files:
        is_tar = _TAR.search(name)
        for found in (
            _members(file, name, pattern, on_read) if is_tar else _file(file, name, pattern)
        ):
            is_empty = False
            yield found
        done += file.stat().st_size
        on_progress(done, total)
    if is_empty:
        raise UsageError(
            f"{joined(map(str, paths), 'and')} has none of the files that it should: name an "
            "archive (.tar, .tar.gz or .tar.xz), or a folder of its files"
        )


def _file(file: Path, name: str, pattern: re.Pattern[str]) -> Iterator[PublishedFile]:
    if found := pattern.search(name.removesuffix(".xz")):
        try:
            with lzma.open(file) if name.endswith(".xz") else file.open("rb") as stream:
                contents = stream.read(_MOST_BYTES + 1)
        except (OSError, EOFError, lzma.LZMAError) as error:
            raise DbtoolError(f"{file} cannot be read to its end ({error}): get it anew") from error
        _check_size(name, len(contents))
        yield name.removesuffix(".xz"), found, contents


def _members(
    file: Path, name: str, pattern: re.Pattern[str], on_read: Callable[[int, int], None]
) -> Iterator[PublishedFile]:
    """Yield the files of a tar file that match."""
    for header, stream in tar_headers(file, on_read):
        if header.isfile() and (found := pattern.search(header.name)):
            _check_size(header.name, header.size)
            path = PurePosixPath(name).parent / header.name
            yield str(path), found, stream.read(header.size)


def _check_size(name: str, size: int) -> None:
    if size > _MOST_BYTES:
        raise DbtoolError(f"{name} has more than {_MOST_BYTES >> 20} MiB, unlike published files")


def tree_id(archive: Path) -> str:
    """Return the id of the tree in a tar file, as `git rev-parse COMMIT:` prints it.

    The one folder that hosts put around all files does not count.

    Raises:
        ValueError: the archive cannot be read to its end, or has a submodule, whose commit an
            archive does not hold.
    """
    try:
        return _written(_tree_of(archive)).hex()
    except UnreadableError as error:
        raise ValueError(error.reason) from error


def _tree_of(archive: Path) -> _Tree:
    root: _Tree = {}
    for header, stream in tar_headers(archive, lambda _done, _total: None):
        *folders, name = header.name.strip("/").split("/")[1:] or [""]
        if not name:
            continue
        tree = root
        for folder in folders:
            inner = tree.setdefault(folder, {})
            if not isinstance(inner, dict):
                raise ValueError(f"{folder} is a file and a folder")  # noqa: TRY004 # Not a type of Python's.
            tree = inner
        if header.isdir():
            tree.setdefault(name, {})
        elif header.issym():
            target = header.linkname.encode()
            tree[name] = b"120000", _object(b"blob", len(target), [target])
        elif header.isfile():
            mode = b"100755" if header.mode & 0o100 else b"100644"
            size = header.size
            parts = (stream.read(min(_BLOCK, size - at)) for at in range(0, size, _BLOCK))
            tree[name] = mode, _object(b"blob", size, parts)
    return root


def _written(tree: _Tree) -> bytes:
    entries = {}
    for name, entry in tree.items():
        if isinstance(entry, dict):
            if not entry:
                raise ValueError(f"{name} is a submodule")
            # Git sorts a folder as if its name ended with a slash.
            entries[name.encode() + b"/"] = b"40000 %b\0%b" % (name.encode(), _written(entry))
        else:
            entries[name.encode()] = b"%b %b\0%b" % (entry[0], name.encode(), entry[1])
    contents = b"".join(entries[key] for key in sorted(entries))
    return _object(b"tree", len(contents), [contents])


def _object(kind: bytes, size: int, parts: Iterable[bytes]) -> bytes:
    digest = hashlib.sha1(b"%b %d\0" % (kind, size), usedforsecurity=False)
    for part in parts:
        digest.update(part)
    return digest.digest()
