"""The file formats of exports, by the extensions of files."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from dbtool.core.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

TAR_ENDINGS = (".tar", ".tar.gz", ".tar.bz2")


class FileFormat(StrEnum):
    """The format of an export.

    The first four are one file with the columns of the view measurements. A duckdb file has all
    views and macros. original is the layout of the published archive, as a folder or a tar file.
    """

    PARQUET = "parquet"
    CSV = "csv"
    JSONL = "jsonl"
    ARROW = "arrow"
    DUCKDB = "duckdb"
    ORIGINAL = "original"


def file_format_of(out: Path) -> FileFormat:
    """Return the format that matches the name of a file.

    Raises:
        UsageError: no format matches it.
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
