"""Git's own hash of all files of a commit, computed from an archive of it while that is read.

A host packs the same commit differently from day to day, so that an archive has no digest to be
checked by; the id of the commit's tree is the same for ever.
"""

from __future__ import annotations

import bz2
import contextlib
import errno
import gzip
import hashlib
import lzma
import tarfile
import zlib
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_Tree: TypeAlias = "dict[str, _Tree | tuple[bytes, bytes]]"
_BLOCK = 1 << 20
_PACKED: dict[bytes, Callable[[BinaryIO], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
}
GIT_TREE = "git tree"
"""The algorithm's name beside those of hashlib."""


def tree_id(archive: Path) -> str:
    """Return the id of the tree in a tar file, as `git rev-parse COMMIT:` prints it.

    The one folder that hosts put around all files does not count.

    Raises:
        OSError: the archive cannot be read, is damaged, or has a submodule, whose commit an archive
            does not hold.
    """
    try:
        return _written(_tree_of(archive)).hex()
    except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise OSError(errno.EIO, f"it is damaged ({error})") from error


def _tree_of(archive: Path) -> _Tree:
    root: _Tree = {}
    with tar_stream(archive) as (tar, _):
        for member in tar:
            tar.members = []  # type: ignore[attr-defined] # It would keep the headers of all members.
            *folders, name = member.name.strip("/").split("/")[1:] or [""]
            if not name:
                continue
            tree = root
            for folder in folders:
                inner = tree.setdefault(folder, {})
                if not isinstance(inner, dict):
                    raise tarfile.ReadError(f"{folder} is a file and a folder")
                tree = inner
            if member.isdir():
                tree.setdefault(name, {})
            elif member.issym():
                tree[name] = b"120000", _object(b"blob", member.linkname.encode())
            elif member.isfile():
                mode = b"100755" if member.mode & 0o100 else b"100644"
                tree[name] = mode, _blob(tar, member)
    return root


@contextlib.contextmanager
def tar_stream(path: Path) -> Iterator[tuple[tarfile.TarFile, BinaryIO]]:
    """Open a tar file, packed or not, to be read once; yield it and the file that it is read from.

    At the end the rest is read too, since tarfile takes a file that was cut short for whole.

    Raises:
        EOFError, tarfile.TarError, lzma.LZMAError, zlib.error, OSError: it is damaged.
    """
    with path.open("rb") as packed:
        start = packed.read(6)
        packed.seek(0)
        opener = next((opener for mark, opener in _PACKED.items() if start.startswith(mark)), None)
        with contextlib.ExitStack() as stack:
            whole = stack.enter_context(opener(packed)) if opener else packed
            yield stack.enter_context(tarfile.open(fileobj=whole, mode="r|")), packed
            while whole.read(_BLOCK):
                pass


def _blob(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    digest = hashlib.sha1(b"blob %d\0" % member.size, usedforsecurity=False)
    if stream := tar.extractfile(member):
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.digest()


def _written(tree: _Tree) -> bytes:
    entries = {}
    for name, entry in tree.items():
        if isinstance(entry, dict):
            if not entry:
                raise OSError(errno.ENOTSUP, f"{name} is a submodule")
            # Git sorts a folder as if its name ended with a slash.
            entries[name.encode() + b"/"] = b"40000 %b\0%b" % (name.encode(), _written(entry))
        else:
            entries[name.encode()] = b"%b %b\0%b" % (entry[0], name.encode(), entry[1])
    return _object(b"tree", b"".join(entries[key] for key in sorted(entries)))


def _object(kind: bytes, contents: bytes) -> bytes:
    header = b"%b %d\0" % (kind, len(contents))
    return hashlib.sha1(header + contents, usedforsecurity=False).digest()
