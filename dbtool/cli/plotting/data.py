"""A figure's points as files of rows, without a picture."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from polars import selectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbtool.figures.points import Points

DATA_FORMATS = ("csv", "json", "parquet")


def write_data(points: Points, name: str, folder: Path, formats: Sequence[str]) -> list[Path]:
    """Writes the points in each format; the same points give the same bytes.

    Args:
        points: what the figure's query returned.
        name: the files' stem.
        folder: where they go; made where it is not there.
        formats: of DATA_FORMATS.

    Raises:
        OSError: the folder cannot be written to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    # Beside their targets, because only a rename within one file system is atomic.
    with tempfile.TemporaryDirectory(dir=folder, prefix=f".{name}-") as scratch:
        for kind in formats:
            made = Path(scratch, kind)
            made.write_bytes(_contents(points, kind))
            written.append(made)
        return [made.replace(folder / f"{name}.{made.name}") for made in written]


def _contents(points: Points, kind: str) -> bytes:
    if kind == "csv":
        return points.csv().encode()
    if kind == "json":
        return _json(points.rows).encode()
    parquet = io.BytesIO()
    points.rows.write_parquet(parquet, compression="zstd")
    return parquet.getvalue()


def _json(rows: pl.DataFrame) -> str:
    """The rows as a list of objects, one a line; numbers that are not finite become null."""
    # A decimal number would become text, and a count of DuckDB's may come as one.
    plain = rows.with_columns(selectors.decimal().cast(pl.Float64))
    lines = plain.write_ndjson().removesuffix("\n").split("\n")
    return "[\n" + ",\n".join(lines) + "\n]\n"
