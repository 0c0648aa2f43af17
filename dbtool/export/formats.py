"""The formats that measurements are exported in, and which one a file's name means."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from dbtool.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

TAR_ENDINGS = (".tar", ".tar.gz", ".tar.bz2")


class FileFormat(StrEnum):
    """What a file holds.

    The first three hold the columns of the view measurements; original is the layout of the
    published archive, a folder or a tar file.
    """

    PARQUET = "parquet"
    CSV = "csv"
    ARROW = "arrow"
    ORIGINAL = "original"


def format_of(out: Path) -> FileFormat:
    """The format that a file's name means.

    Raises:
        UsageError: it means none.
    """
    if out.name.endswith(TAR_ENDINGS):
        return FileFormat.ORIGINAL
    for each in FileFormat:
        if out.suffix == f".{each}":
            return each
    raise UsageError(
        f"the name {out.name!r} does not tell a format: give one of {', '.join(FileFormat)} with "
        "--format"
    )
