"""Where a published release lies, and its bytes: on a server or in a folder of this machine."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from urllib.parse import quote, urlsplit

from dbtool.archive.download.source import parse_address
from dbtool.errors import DbtoolError, UsageError
from dbtool.store.published.layout import MANIFEST

if TYPE_CHECKING:
    from pathlib import Path

    from dbtool.store.published.manifest import PublishedFile

_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+):/+", re.IGNORECASE)


@dataclass
class Traffic:
    """What was fetched so far.

    Attributes:
        requests: how often something was asked for.
        bytes: how much came.
    """

    requests: int = 0
    bytes: int = 0


class Place(Protocol):
    """What gives the bytes of a release.

    Attributes:
        name: what to call it in messages.
        traffic: what was read so far.
    """

    name: str
    traffic: Traffic

    def manifest(self) -> bytes:
        """The bytes of manifest.json.

        Raises:
            DbtoolError: it cannot be read.
        """

    def read(self, file: PublishedFile, start: int, length: int) -> bytes:
        """A part of a file, whole.

        Raises:
            DbtoolError: it cannot be read, or the file is another one than the manifest lists.
        """

    def close(self) -> None:
        """Lets go of connections."""


def address_in(path: Path) -> str | None:
    """The URL that was given where a path may stand too; None of a path.

    Args:
        path: as pathlib has it, with one slash where a URL has two.
    """
    found = _ADDRESS.match(str(path))
    return f"{found[1]}://{str(path)[found.end() :]}" if found else None


def folder_address(text: str) -> str:
    """The URL of a release's folder, with a slash at its end.

    Args:
        text: what a person wrote; the manifest's URL stands for its folder.

    Raises:
        UsageError: it is no http or https URL, or has a query.
    """
    if not text.lower().startswith(("http://", "https://")):
        raise UsageError(f"{text!r} is no http:// or https:// address; name a folder by its path")
    parts = urlsplit(parse_address(text).url)
    if parts.query or parts.fragment:
        raise UsageError(f"{text!r} has a part behind its path; give the URL of a release's folder")
    return text.removesuffix(MANIFEST).rstrip("/") + "/"


def file_address(folder: str, path: str) -> str:
    """The URL of a file of a release.

    Args:
        folder: from `folder_address`.
        path: the file's, below the folder; it may hold percent signs of its own.
    """
    return folder + quote(path)


class FolderPlace:
    """A folder of this machine."""

    def __init__(self, folder: Path) -> None:
        self.name = str(folder)
        self.traffic = Traffic()
        self._folder = folder

    def manifest(self) -> bytes:
        """As of every place."""
        try:
            return (self._folder / MANIFEST).read_bytes()
        except OSError as error:
            raise DbtoolError(
                f"{self.name} is no published release: its {MANIFEST} cannot be read "
                f"({error.strerror}); name a database's file or a folder that `dbtool publish` "
                "wrote"
            ) from error

    def read(self, file: PublishedFile, start: int, length: int) -> bytes:
        """As of every place."""
        path = self._folder / file.path
        try:
            with path.open("rb", buffering=0) as opened:
                opened.seek(start)
                found = opened.read(length)
                size = path.stat().st_size
        except OSError as error:
            raise DbtoolError(f"{path} cannot be read: {error.strerror}") from error
        if size != file.bytes or len(found) != length:
            raise changed(self.name, file)
        self.traffic.requests += 1
        self.traffic.bytes += length
        return found

    def close(self) -> None:
        """As of every place."""


def changed(name: str, file: PublishedFile) -> DbtoolError:
    """The error for a file that is another one than the manifest lists."""
    return DbtoolError(
        f"{name} has another {file.path} than its {MANIFEST} lists: the release was changed or is "
        "damaged; give the command again, and tell whoever hosts it if that does not help"
    )
