"""Git's own hash of all files of a commit, computed from an archive of it.

A host packs the same commit differently from day to day, so that an archive has no digest to be
checked by; the id of the commit's tree is the same for ever.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, TypeAlias

from dbtool.sources.tar_stream import UnreadableError, tar_headers

if TYPE_CHECKING:
    from pathlib import Path

    from dbtool.sources.tar_stream import Stream

_Tree: TypeAlias = "dict[str, _Tree | tuple[bytes, bytes]]"
_BLOCK = 1 << 20


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
            tree[name] = b"120000", _object(b"blob", header.linkname.encode())
        elif header.isfile():
            mode = b"100755" if header.mode & 0o100 else b"100644"
            tree[name] = mode, _blob(stream, header.size)
    return root


def _blob(stream: Stream, size: int) -> bytes:
    digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    for start in range(0, size, _BLOCK):
        digest.update(stream.read(min(_BLOCK, size - start)))
    return digest.digest()


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
    return _object(b"tree", b"".join(entries[key] for key in sorted(entries)))


def _object(kind: bytes, contents: bytes) -> bytes:
    header = b"%b %d\0" % (kind, len(contents))
    return hashlib.sha1(header + contents, usedforsecurity=False).digest()
