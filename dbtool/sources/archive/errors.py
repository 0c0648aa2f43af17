"""What is wrong with an archive: a part of it, or all that follows."""

from __future__ import annotations

from dbtool.core.errors import DbtoolError, printable


class ArchiveError(DbtoolError):
    """Something in an archive is malformed.

    Attributes:
        path: the member, as the archive names it, or the archive itself.
        reason: what is wrong with it, such as "it has no status".
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{printable(path)}: {printable(reason)}")
        self.path = path
        self.reason = reason


class UnreadableError(ArchiveError):
    """What follows in the archive cannot be read, or shall not be."""
