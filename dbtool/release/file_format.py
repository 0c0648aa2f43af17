"""The formats of exports."""

from enum import StrEnum
from pathlib import Path

from dbtool.core.errors import UsageError, unknown

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


def file_format_of(out: Path, name: str | None = None) -> FileFormat:
    """Return the format of a name or else of a file's ending, or raise a UsageError."""
    if name is not None:
        if name not in [*FileFormat]:
            raise unknown("format", name, FileFormat, "dbtool export --help")
        return FileFormat(name)
    if out.name.endswith(TAR_ENDINGS):
        return FileFormat.ORIGINAL
    for each in FileFormat:
        if out.suffix == f".{each}":
            return each
    raise UsageError(
        f"the name {out.name!r} does not tell a format: give one of {', '.join(FileFormat)} with "
        "--format"
    )
