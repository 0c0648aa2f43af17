"""The contents of an archive file, decoded on all cores and ahead of whoever takes them."""

from __future__ import annotations

import contextlib
import gzip
import os
import queue
import threading
import zlib
from typing import TYPE_CHECKING, BinaryIO, cast

from dbtool.archive.errors import UnreadableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

BLOCK_BYTES = 4 << 20
# What is decoded while a large study is stored: some seconds' work.
_BLOCKS_AHEAD = 32
_FAILURES = (OSError, EOFError, RuntimeError, ValueError, zlib.error)


class Stream:
    """An archive's contents, block after block.

    Attributes:
        name: the file, for messages.
        total: bytes of the file.
        position: bytes of the file that the blocks taken so far were decoded from.
        decoded: bytes of the blocks taken so far.
    """

    def __init__(
        self, name: str, total: int, read: Callable[[int], bytes], tell: Callable[[], int]
    ) -> None:
        self.name = name
        self.total = total
        self.position = 0
        self.decoded = 0
        self._read = read
        self._tell = tell
        self._blocks: queue.Queue[tuple[bytes, int] | Exception] = queue.Queue(_BLOCKS_AHEAD)
        self._ended = False
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._read_ahead, name="read-ahead", daemon=True)
        self._thread.start()

    def next_block(self) -> bytes:
        """The next bytes, up to `BLOCK_BYTES`; none at the end.

        Raises:
            UnreadableError: the file is damaged or cannot be read.
        """
        if self._ended:
            return b""
        found = self._blocks.get()
        if isinstance(found, Exception):
            self._ended = True
            raise UnreadableError(self.name, _why(found)) from found
        block, self.position = found
        self._ended = not block
        self.decoded += len(block)
        return block

    def close(self) -> None:
        """Stops reading."""
        self._stopped.set()
        while self._thread.is_alive():
            with contextlib.suppress(queue.Empty):
                self._blocks.get(timeout=0.01)

    def _read_ahead(self) -> None:
        try:
            block = b"first"
            while block and not self._stopped.is_set():
                block = self._read(BLOCK_BYTES)
                self._blocks.put((block, min(self._tell(), self.total)))
        except _FAILURES as error:
            self._blocks.put(error)


@contextlib.contextmanager
def open_stream(path: Path) -> Iterator[Stream]:
    """The contents of a .tar.bz2, .tar.gz or .tar, which is told by its first bytes.

    Raises:
        UnreadableError: the file cannot be opened.
    """
    with contextlib.ExitStack() as stack:
        try:
            file = stack.enter_context(path.open("rb", buffering=0))
            total = os.fstat(file.fileno()).st_size
            start = file.read(4)
            file.seek(0)
            read, tell = _decoder(path, cast("BinaryIO", file), start, stack)
        except _FAILURES as error:
            raise UnreadableError(str(path), _why(error)) from error
        stream = Stream(str(path), total, read, tell)
        # The decoder must not be closed under the thread that reads from it.
        stack.callback(stream.close)
        yield stream


def _decoder(
    path: Path, file: BinaryIO, start: bytes, stack: contextlib.ExitStack
) -> tuple[Callable[[int], bytes], Callable[[], int]]:
    """How to read the decoded bytes, and how to tell the place in the file that they came from."""
    if start.startswith(b"BZh") and start[3:4] in b"123456789":
        # Its import starts no thread, but takes a while.
        from rapidgzip import IndexedBzip2File

        # 0: as many threads as there are cores.
        packed = stack.enter_context(
            contextlib.closing(IndexedBzip2File(str(path), parallelization=0))
        )
        return packed.read, lambda: int(packed.raw.bz2reader.tell_compressed()) // 8
    if start.startswith(b"\x1f\x8b"):
        unpacked = stack.enter_context(gzip.GzipFile(fileobj=file, mode="rb"))
        return unpacked.read, file.tell
    return file.read, file.tell


def _why(error: Exception) -> str:
    """One clause for an error of the system's or of a decoder's."""
    if isinstance(error, gzip.BadGzipFile) or not isinstance(error, OSError):
        return "it is damaged or cut short: fetch it again with `dbtool fetch`"
    return f"it cannot be read ({error.strerror or error})"
