"""Splits the footer of a Parquet file, so that some of its row groups can pass for a file.

A footer is a structure in Thrift's compact form, see
https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift. Row groups say
where their bytes lie, counted from the start of the file: with a footer that lists some of them
alone, the same bytes are a file of these.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAGIC = b"PAR1"
END_BYTES = 8
"""The length of the footer and the letters behind it."""
_ROWS, _ROW_GROUPS = 3, 4  # fields of FileMetaData
_ROWS_OF_GROUP = 3  # a field of RowGroup
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_NUMBERS = (4, 5, 6)
_LONG_LIST = 15


@dataclass(frozen=True)
class RowGroup:
    """A row group.

    Attributes:
        rows: how many it has.
        footer: its part of the footer.
    """

    rows: int
    footer: bytes


@dataclass(frozen=True)
class Footer:
    """A footer in parts.

    Attributes:
        before: what stands before the number of rows.
        between: between the number of rows and the row groups.
        after: behind them.
        row_groups: the row groups, in order.
    """

    before: bytes
    between: bytes
    after: bytes
    row_groups: tuple[RowGroup, ...]

    def beginning(self, first: int, end: int) -> list[RowGroup]:
        """The row groups that begin at a row from the first one on, and before the end."""
        starts = accumulate((group.rows for group in self.row_groups), initial=0)
        return [
            group
            for group, start in zip(self.row_groups, starts, strict=False)
            if first <= start < end
        ]

    def of(self, row_groups: Sequence[RowGroup]) -> bytes:
        """The end of a file that has these row groups alone: footer, its length and the letters."""
        count = len(row_groups)
        head = (
            bytes([count << 4 | _STRUCT])
            if count < _LONG_LIST
            else bytes([_LONG_LIST << 4 | _STRUCT]) + _varint(count)
        )
        parts = (
            self.before,
            _varint(sum(group.rows for group in row_groups) << 1),
            self.between,
            head,
            *(group.footer for group in row_groups),
            self.after,
        )
        footer = b"".join(parts)
        return footer + struct.pack("<I", len(footer)) + MAGIC


def split_footer(footer: bytes) -> Footer:
    """The parts of a footer.

    Args:
        footer: the bytes before its length at the end of a file.

    Raises:
        ValueError: it is none.
    """
    reader = _Reader(footer)
    try:
        places = {field: (start, end) for field, start, end in reader.fields()}
        rows, groups = places[_ROWS], places[_ROW_GROUPS]
        found = tuple(_row_groups(footer, groups[0]))
    except (IndexError, KeyError) as error:
        raise ValueError("not the footer of a Parquet file") from error
    return Footer(
        footer[: rows[0]], footer[rows[1] : groups[0]], footer[groups[1] : reader.position], found
    )


def _row_groups(footer: bytes, start: int) -> Iterator[RowGroup]:
    """The row groups of the list that begins there."""
    reader = _Reader(footer, start)
    count, kind = reader.list_head()
    if kind != _STRUCT:
        raise ValueError("the row groups are no structures")
    for _ in range(count):
        begin = reader.position
        places = {field: place for field, place, _ in reader.fields()}
        rows = _Reader(footer, places[_ROWS_OF_GROUP]).number()
        yield RowGroup(rows, footer[begin : reader.position])


class _Reader:
    """Walks over values in Thrift's compact form."""

    def __init__(self, content: bytes, position: int = 0) -> None:
        self._content = content
        self.position = position

    def fields(self) -> Iterator[tuple[int, int, int]]:
        """The number of each field of a structure, and where its value begins and ends."""
        field = 0
        while head := self._byte():
            field = field + (head >> 4) if head >> 4 else self.number()
            start = self.position
            self._skip(head & 15)
            yield field, start, self.position

    def number(self) -> int:
        """A signed number."""
        value = self._varint()
        return value >> 1 ^ -(value & 1)

    def list_head(self) -> tuple[int, int]:
        """How many values a list has, and of which type."""
        head = self._byte()
        count = head >> 4
        return (self._varint() if count == _LONG_LIST else count), head & 15

    def _byte(self) -> int:
        value = self._content[self.position]
        self.position += 1
        return value

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def _skip(self, kind: int) -> None:
        """Passes over the value of a field."""
        if kind in _NUMBERS:
            self._varint()
        elif kind in {_BYTE, _DOUBLE}:
            self.position += 1 if kind == _BYTE else 8
        elif kind == _BINARY:
            length = self._varint()
            self.position += length
        elif kind in {_LIST, _SET}:
            count, inner = self.list_head()
            self._skip_all([inner] * min(count, len(self._content) + 1))
        elif kind == _MAP:
            self._skip_map()
        elif kind == _STRUCT:
            for _ in self.fields():
                pass
        elif kind not in {_TRUE, _FALSE}:
            raise ValueError(f"no type of Thrift's has the number {kind}")

    def _skip_all(self, kinds: Sequence[int]) -> None:
        """Passes over values of a list or a map; each takes a byte at least."""
        for kind in kinds:
            # A truth value takes a byte here, and none in a field.
            self._skip(_BYTE if kind in {_TRUE, _FALSE} else kind)
            if self.position > len(self._content):
                raise IndexError

    def _skip_map(self) -> None:
        count = self._varint()
        kinds = self._byte() if count else 0
        self._skip_all([kinds >> 4, kinds & 15] * min(count, len(self._content) + 1))


def _varint(value: int) -> bytes:
    found = bytearray()
    while value >= 128:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)
