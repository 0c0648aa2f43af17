"""The sentences of several text files, read by number: an index tells where each of them begins.

An index is worked out once and kept in the cache.
"""

import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from dbtool.core.errors import DbtoolError
from dbtool.core.files import open_file, sha256_of
from producers.datasets.folders import digest_of, keep, reading, text_cache
from producers.datasets.text.lines import Lines, first_line, inflate

FindLines = Callable[[Path], Lines]

_VERSION = 2
_FACTS, _STARTS, _BLOCKS = "facts.json", "starts.npy", "blocks.npy"
# Each takes up to two file descriptors.
_INDEXES_OPEN = 200
_SHORT_READ = 1 << 10


class Facts(msgspec.Struct, frozen=True):
    """What is known of a text file, besides where its sentences begin.

    Its size is in bytes, when it was modified in nanoseconds; lines are empty or undecodable as of
    `Lines`. It is compressed where sentences lie in blocks that are compressed on their own.
    """

    size: int
    modified: int
    sha256: str
    sentences: int
    empty: int
    undecodable: int
    compressed: bool


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A text file whose sentences can be sought; the folder keeps the arrays of its index."""

    path: Path
    facts: Facts
    folder: Path


class Corpus:
    """The sentences of text files, numbered through in the order of the files.

    At least one file holds a sentence. Memory holds a few bytes for each file, not each sentence.
    """

    def __init__(self, files: Sequence[IndexedFile]) -> None:
        self.files = tuple(files)
        self._ends = np.cumsum([file.facts.sentences for file in files], dtype=np.int64)

    def __len__(self) -> int:
        return int(self._ends[-1])

    @property
    def lines(self) -> int:
        """Return how many lines there are, sentences or not."""
        skipped = sum(file.facts.empty + file.facts.undecodable for file in self.files)
        return len(self) + skipped

    @property
    def sha256(self) -> str:
        """Return one hash of the contents of all files, in hexadecimal."""
        return digest_of((file.path.name, file.facts.sha256) for file in self.files)

    def sentences(self, numbers: npt.NDArray[np.int64], limit: int) -> list[str]:
        """Read sentences by their numbers, in the order wanted, each cut after `limit` bytes.

        May be called from several threads at once.
        """
        found = [""] * len(numbers)
        order = np.argsort(numbers, kind="stable")
        ascending = numbers[order]
        for number, part in _runs(np.searchsorted(self._ends, ascending, side="right")):
            file = self.files[number]
            first = self._ends[number] - file.facts.sentences
            texts = _read(file, ascending[part] - first, limit)
            for position, text in zip(order[part], texts, strict=True):
                found[position] = text
        return found


def open_corpus(paths: Sequence[Path], find: FindLines, dataset: str) -> Corpus:
    """Return the sentences of some text files; those indexed before are taken from the cache.

    What is indexed, and how many lines are no sentences, is printed on standard error.
    """
    files = index_files(paths, find, dataset)
    empty = sum(file.facts.empty for file in files)
    undecodable = sum(file.facts.undecodable for file in files)
    if not sum(file.facts.sentences for file in files):
        raise DbtoolError(
            f"{files[0].path} and what else was found of {dataset} hold no sentence: {empty:,}"
            f" lines are empty, {undecodable:,} not UTF-8; replace them"
        )
    if empty or undecodable:
        sys.stderr.write(
            f"skipped lines of {dataset}: {empty:,} empty, {undecodable:,} not UTF-8\n"
        )
    return Corpus(files)


def index_files(paths: Sequence[Path], find: FindLines, dataset: str) -> list[IndexedFile]:
    """Index text files, those that are not in the cache yet; see `open_corpus`."""
    known = {path: _known(path, find) for path in paths}
    missing = [path for path, index in known.items() if index is None]
    if missing:
        noun = "file" if len(missing) == 1 else "files"
        sys.stderr.write(f"indexing {len(missing):,} {noun} of {dataset}, once\n")
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            made = threads.map(lambda path: _index(path, find), missing)
            known |= dict(zip(missing, made, strict=True))
    return [index for index in map(known.get, paths) if index is not None]


def _known(path: Path, find: FindLines) -> IndexedFile | None:
    """Return the index of a file in the cache; None when there is none, or it is damaged."""
    _, folder = _identify(path, find)
    try:
        facts = msgspec.json.decode((folder / _FACTS).read_bytes(), type=Facts)
        starts = np.load(folder / _STARTS, mmap_mode="r")
        blocks = np.load(folder / _BLOCKS, mmap_mode="r") if facts.compressed else None
    except (OSError, EOFError, ValueError, msgspec.MsgspecError):
        return None
    whole = starts.shape == (facts.sentences,) and (blocks is None or blocks.shape[1:] == (3,))
    return IndexedFile(path, facts, folder) if whole else None


def _index(path: Path, find: FindLines) -> IndexedFile:
    status, folder = _identify(path, find)
    with reading(path):
        # First, since it refuses a pipe.
        sha256 = sha256_of(path)
        found = find(path)
        facts = Facts(
            size=status.st_size,
            modified=status.st_mtime_ns,
            sha256=sha256,
            sentences=len(found.starts),
            empty=found.empty,
            undecodable=found.undecodable,
            compressed=found.blocks is not None,
        )
    for name, array in ((_STARTS, found.starts), (_BLOCKS, found.blocks)):
        if array is not None:
            content = io.BytesIO()
            np.save(content, array)
            keep(folder / name, content.getvalue())
    # The last, since the index counts from then on.
    keep(folder / _FACTS, msgspec.json.encode(facts))
    return IndexedFile(path, facts, folder)


def _identify(path: Path, find: FindLines) -> tuple[os.stat_result, Path]:
    """Return the state of a file, which tells its versions apart, and the folder of its index."""
    with reading(path):
        status = path.stat()
    resolved = str(path.resolve())
    version = (status.st_size, status.st_mtime_ns)
    return status, text_cache("indexes", _VERSION, find.__name__, resolved, *version)


@lru_cache(_INDEXES_OPEN)
def _mapped(path: Path) -> npt.NDArray[Any]:
    array: npt.NDArray[Any] = np.load(path, mmap_mode="r")
    return array


def _runs(keys: npt.NDArray[np.integer]) -> Iterator[tuple[int, slice]]:
    """Yield each key of an ascending array, and the part of it that holds the key."""
    found, first = np.unique(keys, return_index=True)
    ends = np.append(first, len(keys))[1:]
    for key, start, end in zip(found.tolist(), first, ends, strict=True):
        yield key, slice(start, end)


def _read(file: IndexedFile, numbers: npt.NDArray[np.int64], limit: int) -> list[str]:
    """Return some sentences of a file, whose numbers in it ascend."""
    with reading(file.path), open_file(file.path) as opened:
        descriptor = opened.fileno()
        status = os.fstat(descriptor)
        if (status.st_size, status.st_mtime_ns) != (file.facts.size, file.facts.modified):
            raise DbtoolError(f"{file.path} was changed while it was in use; start again")
        starts = _mapped(file.folder / _STARTS)[numbers].tolist()
        if file.facts.compressed:
            return _read_compressed(descriptor, file, numbers, starts, limit)
        return [first_line(_line(descriptor, start, limit), limit) for start in starts]


def _line(descriptor: int, start: int, limit: int) -> bytes:
    """Return the bytes from an offset to the end of its line at least, or to the limit."""
    content = os.pread(descriptor, min(_SHORT_READ, limit), start)
    if b"\n" in content or len(content) < _SHORT_READ:
        return content
    return os.pread(descriptor, limit, start)


def _read_compressed(
    descriptor: int,
    file: IndexedFile,
    numbers: npt.NDArray[np.int64],
    starts: list[int],
    limit: int,
) -> list[str]:
    """Return some sentences of a file of compressed blocks, each of which is unpacked once."""
    texts: list[str] = []
    blocks = _mapped(file.folder / _BLOCKS)
    for block, part in _runs(np.searchsorted(blocks[:, 0], numbers, side="right") - 1):
        _, offset, size = blocks[block].tolist()
        content = inflate(os.pread(descriptor, size, offset), file.path, offset)
        texts += [first_line(content[start : start + limit], limit) for start in starts[part]]
    return texts
