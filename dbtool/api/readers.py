"""What scans of a database are reading, so that it can be closed before they are through.

A reader that outlives its connection keeps the file from being opened again; see
`dbtool.store.statements.batches`.
"""

from __future__ import annotations

import threading
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dbtool.errors import DbtoolError
from dbtool.store.statements import settle

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb
    import pyarrow as pa

CLOSED = "the database was closed: open it again with dbtool.open()"


class Readers:
    """The readers that are open; threads may share them."""

    def __init__(self) -> None:
        self._open: weakref.WeakSet[Reader] = weakref.WeakSet()
        self._lock = threading.Lock()

    @contextmanager
    def reading(self, cursor: duckdb.DuckDBPyConnection, rows: int) -> Iterator[Reader]:
        """The rows of what a cursor of its own ran, while the block lasts.

        Args:
            cursor: what ran it.
            rows: of a batch, at most.
        """
        reader = Reader(cursor.to_arrow_reader(rows))
        with self._lock:
            self._open.add(reader)
        try:
            yield reader
        finally:
            reader.close()
            settle(cursor)

    def close(self) -> None:
        """Closes all of them, once the batches that are being read are there."""
        with self._lock:
            readers = list(self._open)
        for reader in readers:
            reader.close()


class Reader:
    """Batches of rows, one after the other."""

    def __init__(self, source: pa.RecordBatchReader) -> None:
        self._source = source
        self._is_open = True
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """The batches.

        Raises:
            DbtoolError: the database was closed meanwhile.
        """
        while (batch := self._next()) is not None:
            yield batch

    def close(self) -> None:
        """Lets go of the database; what was read stays."""
        with self._lock:
            self._is_open = False
            self._source.close()

    def _next(self) -> pa.RecordBatch | None:
        with self._lock:
            if not self._is_open:
                raise DbtoolError(CLOSED)
            try:
                return self._source.read_next_batch()
            except StopIteration:
                return None
