"""The sentences of several text files, read by number."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import numpy as np

from dbtool.errors import DbtoolError
from producers.datasets.text.cache import digest_of
from producers.datasets.text.lines import first_line
from producers.datasets.text.warc import inflate

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from producers.datasets.text.index import IndexedFile

_SHORT_READ = 1 << 10


class Corpus:
    """The sentences of text files, numbered through in the order of the files.

    Memory holds a few bytes for each file, not for each sentence.

    Args:
        files: the files; at least one holds a sentence.
    """

    def __init__(self, files: Sequence[IndexedFile]) -> None:
        self.files = tuple(files)
        self._ends = np.cumsum([file.facts.sentences for file in files], dtype=np.int64)

    def __len__(self) -> int:
        return int(self._ends[-1])

    @property
    def lines(self) -> int:
        """How many lines there are, sentences or not."""
        skipped = sum(file.facts.empty + file.facts.undecodable for file in self.files)
        return len(self) + skipped

    @property
    def sha256(self) -> str:
        """One hash of the contents of all files, in hexadecimal."""
        return digest_of((file.path.name, file.facts.sha256) for file in self.files)

    def sentences(self, numbers: npt.NDArray[np.int64], limit: int) -> list[str]:
        """Reads some sentences; may be called from several threads at once.

        Args:
            numbers: which, from zero, in the order wanted.
            limit: bytes after which a longer sentence is cut.

        Raises:
            DbtoolError: a file is gone or was changed.
        """
        found = [""] * len(numbers)
        order = np.argsort(numbers, kind="stable")
        files = np.searchsorted(self._ends, numbers[order], side="right")
        beginnings = np.flatnonzero(np.diff(files, prepend=-1))
        for number, places in zip(
            files[beginnings].tolist(), np.split(order, beginnings[1:]), strict=False
        ):
            file = self.files[number]
            first = self._ends[number] - file.facts.sentences
            texts = _read(file, numbers[places] - first, limit)
            for place, text in zip(places, texts, strict=True):
                found[place] = text
        return found


def open_corpus(files: Sequence[IndexedFile], dataset: str) -> Corpus:
    """The sentences of some indexed files; lines that are none are counted on standard error.

    Raises:
        DbtoolError: the files hold no sentence.
    """
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


def _read(file: IndexedFile, numbers: npt.NDArray[np.int64], limit: int) -> list[str]:
    """Some sentences of a file, in ascending order of their numbers in it."""
    try:
        descriptor = os.open(file.path, os.O_RDONLY)
    except OSError as error:
        raise DbtoolError(
            f"{file.path} cannot be read: {error.strerror}; it was there when training began"
        ) from error
    try:
        file.check_unchanged(os.fstat(descriptor))
        if file.facts.compressed:
            return _read_compressed(descriptor, file, numbers, limit)
        starts = file.starts()[numbers].tolist()
        return [first_line(_line(descriptor, start, limit), limit) for start in starts]
    except OSError as error:
        raise DbtoolError(f"{file.path} cannot be read: {error.strerror}") from error
    finally:
        os.close(descriptor)


def _line(descriptor: int, start: int, limit: int) -> bytes:
    """The bytes from a place in a file to the end of its line at least, or to the limit."""
    content = os.pread(descriptor, min(_SHORT_READ, limit), start)
    if b"\n" in content or len(content) < _SHORT_READ:
        return content
    return os.pread(descriptor, limit, start)


def _read_compressed(
    descriptor: int, file: IndexedFile, numbers: npt.NDArray[np.int64], limit: int
) -> list[str]:
    """Some sentences of a file of compressed blocks; each block is read and unpacked once."""
    texts: list[str] = []
    blocks = file.blocks()
    of_block = np.searchsorted(blocks[:, 0], numbers, side="right") - 1
    starts = file.starts()
    for wanted in np.split(numbers, np.flatnonzero(np.diff(of_block)) + 1):
        block = np.searchsorted(blocks[:, 0], wanted[0], side="right") - 1
        _, offset, size = blocks[block].tolist()
        content = inflate(os.pread(descriptor, size, offset), file.path)
        texts.extend(
            first_line(content[start : start + limit], limit) for start in starts[wanted].tolist()
        )
    return texts
