"""The files of a release as DuckDB opens them: a study's measurements are a file of their own."""

from __future__ import annotations

import datetime as dt
import threading
from typing import TYPE_CHECKING, Any

from fsspec.spec import AbstractFileSystem

from dbtool.store.remote.contents import Part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbtool.store.published.manifest import PublishedFile
    from dbtool.store.remote.contents import Contents

PROTOCOL = "release"
# What a manifest lists does not change; DuckDB asks before it uses what it keeps.
_NEVER = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)


class ReleaseFiles(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """What DuckDB sees of a release, which is its tables and nothing else of any machine.

    Attributes:
        contents: the release's files.
    """

    protocol = PROTOCOL
    cachable = False

    def __init__(self, contents: Contents) -> None:
        super().__init__()
        self.contents = contents
        self._entries: dict[str, tuple[PublishedFile, tuple[int, int] | None]] = {}
        self._parts: dict[str, Part] = {}

    def add(self, path: str, file: PublishedFile, rows: tuple[int, int] | None = None) -> str:
        """Makes a file, and returns what DuckDB shall open.

        Args:
            path: its path.
            file: the one of the release that it is or is a part of.
            rows: the first row and the one behind the last; None: all.
        """
        self._entries[path] = (file, rows)
        return f"{PROTOCOL}://{path}"

    def opened(self) -> Sequence[str]:
        """The paths of what was opened so far."""
        return list(self._parts)

    def rows(self, path: str) -> tuple[PublishedFile, tuple[int, int] | None]:
        """The file of the release that a path stands for, and which of its rows."""
        return self._entries[path]

    def open(self, path: str, mode: str = "rb", **_: Any) -> _OpenPart:
        """Opens a file to read."""
        if mode != "rb":
            raise PermissionError(f"{path} can only be read")
        return _OpenPart(self._part(path))

    def size(self, path: str) -> int:
        """A file's bytes."""
        return self._part(path).size

    def glob(self, path: str, **_: Any) -> list[str]:
        """The file of that very name; no name is a pattern here."""
        path = self._strip_protocol(path)
        return [path] if path in self._entries else []

    def exists(self, path: str, **_: Any) -> bool:
        """Whether there is such a file."""
        return self._strip_protocol(path) in self._entries

    def isfile(self, path: str) -> bool:
        """Whether there is such a file."""
        return self.exists(path)

    def modified(self, path: str) -> dt.datetime:  # noqa: ARG002 (one answer for all)
        """When it changed."""
        return _NEVER

    def _part(self, path: str) -> Part:
        path = self._strip_protocol(path)
        if path not in self._entries:
            raise FileNotFoundError(path)
        if path not in self._parts:
            self._parts[path] = Part(self.contents, *self._entries[path])
        return self._parts[path]


class _OpenPart:
    """A file that DuckDB has opened; its threads share it, each at a position of its own."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self._of_thread = threading.local()

    def seek(self, position: int, whence: int = 0) -> int:
        """Moves to a byte, counted from the start, from here or from the end."""
        starts = (0, self.tell(), self._part.size)
        self._of_thread.position = starts[whence] + position
        return self.tell()

    def tell(self) -> int:
        """The next byte."""
        return int(getattr(self._of_thread, "position", 0))

    def read(self, length: int = -1) -> bytes:
        """The next bytes."""
        position = self.tell()
        found = self._part.read(position, self._part.size if length < 0 else length)
        self._of_thread.position = position + len(found)
        return found

    def close(self) -> None:
        """Nothing stays open."""
