"""The index of a text file: where each of its sentences begins, worked out once and kept."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dbtool.errors import DbtoolError
from producers.datasets.text.cache import appearing_whole, cache_folder, forget, key_of
from producers.datasets.text.scan import scan_lines, scan_wet

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from producers.datasets.text.scan import Scan

SCANS: Mapping[str, Callable[[Path], Scan]] = {"lines": scan_lines, "wet": scan_wet}
"""How the sentences of each kind of file are found."""

_VERSION = 1
_FACTS, _STARTS, _BLOCKS = "facts.json", "starts.npy", "blocks.npy"
# Each takes up to two file descriptors.
_INDEXES_OPEN = 200


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a text file, besides where its sentences begin.

    Attributes:
        sha256: of the file's content, in hexadecimal.
        sentences: how many it holds.
        empty: lines that hold nothing but white space and control characters.
        undecodable: other lines that are not UTF-8, or hold a zero byte.
        compressed: whether the sentences lie in blocks that are compressed on their own.
    """

    sha256: str
    sentences: int
    empty: int
    undecodable: int
    compressed: bool


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A text file whose sentences can be sought.

    Attributes:
        path: the file.
        size: in bytes.
        modified: when it was modified last, in nanoseconds.
        facts: what it holds.
        folder: the folder that keeps the arrays of the index.
    """

    path: Path
    size: int
    modified: int
    facts: Facts
    folder: Path

    def starts(self) -> npt.NDArray[np.unsignedinteger]:
        """Where each sentence begins, mapped from the cache; see `Scan`."""
        return _mapped(self.folder / _STARTS)

    def blocks(self) -> npt.NDArray[np.int64]:
        """The compressed blocks, mapped from the cache; see `Scan`."""
        return _mapped(self.folder / _BLOCKS)

    def check_unchanged(self, status: os.stat_result) -> None:
        """Refuses the file when it is another than the one that was indexed.

        Raises:
            DbtoolError: it is.
        """
        if (status.st_size, status.st_mtime_ns) != (self.size, self.modified):
            raise DbtoolError(f"{self.path} was changed while it was in use; start again")


def index_files(paths: Sequence[Path], kind: str, dataset: str) -> list[IndexedFile]:
    """Indexes text files; those indexed before are taken from the cache.

    That files are indexed is said on standard error.

    Args:
        paths: the files.
        kind: of the files, one of SCANS.
        dataset: the data set's name.

    Raises:
        DbtoolError: a file cannot be read or is damaged, or the cache cannot be written.
    """
    known = [_known(path, kind) for path in paths]
    missing = [path for path, index in zip(paths, known, strict=True) if index is None]
    if not missing:
        return [index for index in known if index is not None]
    noun = "file" if len(missing) == 1 else "files"
    sys.stderr.write(f"indexing {len(missing):,} {noun} of {dataset}, once\n")
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        made = dict(
            zip(missing, threads.map(lambda path: _index(path, kind), missing), strict=True)
        )
    return [index or made[path] for path, index in zip(paths, known, strict=True)]


def _known(path: Path, kind: str) -> IndexedFile | None:
    """The index of a file in the cache; None when there is none, or it is damaged."""
    status = _status(path)
    folder = _folder(path, status, kind)
    try:
        facts = Facts(**json.loads((folder / _FACTS).read_text()))
        starts = np.load(folder / _STARTS, mmap_mode="r")
        whole = starts.shape == (facts.sentences,)
        whole = whole and (folder / _BLOCKS).is_file() == facts.compressed
    except FileNotFoundError:
        return None
    except (OSError, EOFError, ValueError, TypeError):
        whole = False
    if not whole:
        forget(folder)
        return None
    return IndexedFile(path, status.st_size, status.st_mtime_ns, facts, folder)


def _index(path: Path, kind: str) -> IndexedFile:
    """Indexes a file and keeps that in the cache."""
    status = _status(path)
    try:
        found = SCANS[kind](path)
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise _unreadable(path, error) from error
    facts = Facts(
        sha256=sha256,
        sentences=len(found.starts),
        empty=found.empty,
        undecodable=found.undecodable,
        compressed=found.blocks is not None,
    )
    folder = _folder(path, status, kind)
    index = IndexedFile(path, status.st_size, status.st_mtime_ns, facts, folder)
    index.check_unchanged(_status(path))
    with appearing_whole(folder) as part:
        np.save(part / _STARTS, found.starts)
        if found.blocks is not None:
            np.save(part / _BLOCKS, found.blocks)
        (part / _FACTS).write_text(json.dumps(asdict(facts)))
    return index


def _folder(path: Path, status: os.stat_result, kind: str) -> Path:
    """Where the index of a file is kept."""
    key = key_of(_VERSION, kind, str(path.resolve()), status.st_size, status.st_mtime_ns)
    return cache_folder("indexes") / key


def _status(path: Path) -> os.stat_result:
    """Size and time of a file.

    Raises:
        DbtoolError: it is not there.
    """
    try:
        return path.stat()
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> DbtoolError:
    """The error for a file that cannot be read."""
    return DbtoolError(f"{path} cannot be read: {error.strerror}; mend or remove it")


@lru_cache(_INDEXES_OPEN)
def _mapped(path: Path) -> npt.NDArray[Any]:
    """An array of the cache, mapped into memory."""
    array: npt.NDArray[Any] = np.load(path, mmap_mode="r")
    return array
