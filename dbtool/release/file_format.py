"""The formats of files that measurements are exported as, and the names that tell them."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from dbtool.core.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

TAR_ENDINGS = (".tar", ".tar.gz", ".tar.bz2")


class FileFormat(StrEnum):
    """What is written.

    The first four are one file with the columns of the view measurements. A duckdb file holds all
    views and macros, and original is the layout of the published archive, a folder or a tar file.
    """

    PARQUET = "parquet"
    CSV = "csv"
    JSONL = "jsonl"
    ARROW = "arrow"
    DUCKDB = "duckdb"
    ORIGINAL = "original"


def file_format_of(out: Path) -> FileFormat:
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
