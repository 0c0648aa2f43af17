"""The files of a release, read in parts that are kept, and small ones whole."""

from __future__ import annotations

import hashlib
import struct
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from dbtool.store.published.layout import MEASUREMENTS
from dbtool.store.remote.footers import END_BYTES, MAGIC, split_footer
from dbtool.store.remote.places import changed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dbtool.store.published.manifest import PublishedFile, PublishedManifest
    from dbtool.store.remote.footers import Footer
    from dbtool.store.remote.places import Place

# Asking for parts of less takes longer than fetching it.
_SMALL_BYTES = 1 << 16
# Most questions read all of the small tables; a release of a gigabyte has some megabytes of them.
_SMALL_TABLE_BYTES = 8 << 20
_PARTLY_READ = {"improvements", MEASUREMENTS}
_KEPT_BYTES = 256 << 20
# What a footer takes, with room to spare: the columns once, and each row group.
_FOOTER_BYTES, _FOOTER_BYTES_A_GROUP, _FEWEST_ROWS_A_GROUP = 4096, 1400, 60_000


class Contents:
    """The files of a release; threads may share them.

    Attributes:
        place: where they are.
        manifest: the release's.
        files: the manifest's, by their paths.
    """

    def __init__(self, place: Place, manifest: PublishedManifest) -> None:
        self.place = place
        self.manifest = manifest
        self.files: Mapping[str, PublishedFile] = {file.path: file for file in manifest.files}
        self._lock = threading.Lock()
        self._locks = {path: threading.Lock() for path in self.files}
        self._footer_locks = {path: threading.Lock() for path in self.files}
        self._whole: dict[str, bytes] = {}
        self._footers: dict[str, tuple[int, Footer]] = {}
        self._parts: OrderedDict[tuple[str, int, int], bytes] = OrderedDict()
        self._kept = 0

    def read(self, file: PublishedFile, start: int, length: int) -> bytes:
        """A part of a file.

        Raises:
            DbtoolError: it cannot be read, or is not what the manifest lists.
        """
        if _is_small(file):
            return self.whole(file)[start : start + length]
        key = (file.path, start, length)
        with self._lock:
            if key in self._parts:
                self._parts.move_to_end(key)
                return self._parts[key]
        found = self.place.read(file, start, length)
        with self._lock:
            self._parts[key] = found
            self._kept += length
            while self._kept > _KEPT_BYTES:
                _, dropped = self._parts.popitem(last=False)
                self._kept -= len(dropped)
        return found

    def whole(self, file: PublishedFile) -> bytes:
        """All of a file, checked against its hash.

        Raises:
            DbtoolError: as for `read`.
        """
        with self._locks[file.path]:
            found = self._whole.get(file.path)
            if found is None:
                found = self.place.read(file, 0, file.bytes)
                if hashlib.sha256(found).hexdigest() != file.sha256:
                    raise changed(self.place.name, file)
                self._whole[file.path] = found
        return found

    def footer(self, file: PublishedFile) -> tuple[int, Footer]:
        """Where the footer of a Parquet file begins, and the footer.

        Raises:
            DbtoolError: as for `read`, or it is no Parquet file.
        """
        # The studies of a workload are opened side by side, and one of them reads for all.
        with self._footer_locks[file.path]:
            found = self._footers.get(file.path)
            if found is None:
                found = self._footers[file.path] = self._read_footer(file)
        return found

    def _read_footer(self, file: PublishedFile) -> tuple[int, Footer]:
        """Reads a footer, most often at once."""
        groups = (file.rows or 0) // _FEWEST_ROWS_A_GROUP + 1
        tail = self._tail(file, _FOOTER_BYTES + groups * _FOOTER_BYTES_A_GROUP)
        length, magic = struct.unpack("<I4s", tail[-END_BYTES:])
        if magic != MAGIC or length + END_BYTES > file.bytes:
            raise changed(self.place.name, file)
        if length + END_BYTES > len(tail):
            missing = length + END_BYTES - len(tail)
            tail = self.read(file, file.bytes - len(tail) - missing, missing) + tail
        try:
            footer = split_footer(tail[-length - END_BYTES : -END_BYTES])
        except ValueError as error:
            raise changed(self.place.name, file) from error
        return file.bytes - length - END_BYTES, footer

    def _tail(self, file: PublishedFile, length: int) -> bytes:
        length = max(min(length, file.bytes), END_BYTES)
        return self.read(file, file.bytes - length, length)


class Part:
    """Some row groups of a Parquet file, which pass for a file of their own.

    Attributes:
        size: its bytes.
        row_groups_end: where its footer begins.
    """

    def __init__(self, contents: Contents, file: PublishedFile, rows: Sequence[int] | None) -> None:
        """Finds the row groups.

        Args:
            contents: the release's files.
            file: one of them.
            rows: the first row, and the one behind the last; None: all.

        Raises:
            DbtoolError: the file cannot be read, or its row groups do not begin and end there.
        """
        self._contents = contents
        self._file = file
        self.row_groups_end, self._end = file.bytes, b""
        if rows is not None:
            self.row_groups_end, footer = contents.footer(file)
            chosen = footer.beginning(*rows)
            if sum(group.rows for group in chosen) != rows[1] - rows[0]:
                raise changed(contents.place.name, file)
            self._end = footer.of(chosen)
        self.size = self.row_groups_end + len(self._end)

    def read(self, start: int, length: int) -> bytes:
        """A part of it; less at its end.

        Raises:
            DbtoolError: it cannot be read.
        """
        stop = min(start + length, self.size)
        border = self.row_groups_end
        found = b""
        if start < min(stop, border):
            found = self._contents.read(self._file, start, min(stop, border) - start)
        if stop > border:
            found += self._end[max(start - border, 0) : stop - border]
        return found


def _is_small(file: PublishedFile) -> bool:
    most = _SMALL_BYTES if file.table in _PARTLY_READ else _SMALL_TABLE_BYTES
    return file.bytes <= most
