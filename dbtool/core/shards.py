"""Writes shards, complete or not at all, named by their contents; reads their footers and rows."""

import itertools
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dbtool.core.contract import (
    BATCH_LOSS,
    FOOTER_KEY,
    metric_columns,
    shard_path,
    shard_schema,
    study_path,
)
from dbtool.core.errors import DbtoolError
from dbtool.core.files import finish, open_file, sha256_of, unfinished
from dbtool.core.footer import Footer, FooterError, check_names, decode_footer, encode_footer
from dbtool.core.manifest import ReleaseFile
from dbtool.core.parquet import decoding, open_parquet, value_type
from dbtool.core.rows import Rows, written_schema

ROW_GROUP = 262_144
"""Largest number of rows of a row group: as many float64 as zstd looks back over at its level 5."""
# Up to this share of distinct values, a dictionary stores each value once. Above it, storing bytes
# of equal weight together compresses better.
_FEW_DISTINCT = 0.3
_FEW_DIGITS = 6
# Enough rows to choose an encoding, in a quarter of the time that a full row group takes.
_SAMPLE = 32_768
# Levels of zstd; a higher one takes longer and gains little, with a dictionary from 3 on.
_LEVEL, _DICTIONARY_LEVEL = 5, 3


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard in a release folder: its path, sha256 and bytes as in `ReleaseFile`, and footer."""

    path: str
    sha256: str
    bytes: int
    footer: Footer

    @property
    def rows(self) -> int:
        """The number of its measurements."""
        return sum(trial.measurements for trial in self.footer.trials)

    @property
    def listed(self) -> ReleaseFile:
        """The entry for a manifest."""
        return ReleaseFile(path=self.path, sha256=self.sha256, bytes=self.bytes, rows=self.rows)


def placed_shard(path: str, sha256: str, size: int, footer: Footer) -> Shard:
    """Return a shard; raise a FooterError where its path does not follow from its contents."""
    if path != shard_path(*footer.study.key, sha256):
        raise FooterError("its name is not that of its study and its contents")
    return Shard(path, sha256, size, footer)


def write_shard(
    release: Path,
    footer: Footer,
    tables: Iterable[pa.Table],
    *,
    compression_level: int | None = None,
) -> Shard:
    """Write trials of one study as a shard of a release folder.

    Args:
        release: the release folder.
        footer: footer of the shard; the rows are counted here.
        tables: rows sorted by trial_id and step: trial_id, step and any of the metrics. At least
            one table; memory holds one at a time.
        compression_level: level of zstd, up to 22; None for a quick one.

    Raises:
        DbtoolError: the footer or the rows are out of contract (`FooterError`), or the file cannot
            be written.
    """
    check_names(footer.study.workload)
    folder = release / study_path(*footer.study.key)
    try:
        with unfinished(folder) as (file, temporary):
            footer = _write_rows(temporary, footer, tables, compression_level)
            sha256, size = sha256_of(temporary), temporary.stat().st_size
            path = shard_path(*footer.study.key, sha256)
            finish(file, temporary, release / path)
    except OSError as error:
        raise not_written(folder, error) from error
    return Shard(path, sha256, size, footer)


def not_written(folder: Path, error: OSError) -> DbtoolError:
    """Return the error for a shard that could not be written."""
    # Arrow's own text on a system error is longer than a user needs.
    reason = os.strerror(error.errno) if error.errno else error
    return DbtoolError(
        f"could not write a shard into {folder}: {reason}; "
        "free some space or choose another folder, then run the same command again"
    )


def read_footer(source: Path | BinaryIO) -> Footer:
    """Read the footer of a shard; raise a FooterError where that is out of contract."""
    with decoding(FooterError):
        opened = open_file(source) if isinstance(source, Path) else source
        with opened, pq.ParquetFile(opened) as file:
            return _footer(file)


def read_tables(path: Path, columns: list[str] | None = None) -> Iterator[pa.Table]:
    """Yield the rows of a shard, one row group at a time, with all or some of the columns."""
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            yield file.read_row_group(group, columns)


def check_shard(path: Path) -> Footer:
    """Read every row of a shard; raise a FooterError where that is not as the footer says."""
    with decoding(FooterError), open_file(path) as opened, open_parquet(opened) as file:
        footer = _footer(file)
        schema = file.schema_arrow.remove_metadata()
        if [(field.name, value_type(field)) for field in schema] != [
            (field.name, field.type) for field in shard_schema()
        ]:
            raise FooterError("its columns are not those of a shard")
        rows = Rows(footer)
        for group in range(file.num_row_groups):
            rows.check(file.read_row_group(group, use_threads=False))
        rows.end()
    return footer


def _write_rows(
    path: Path, footer: Footer, tables: Iterable[pa.Table], compression_level: int | None
) -> Footer:
    """Write tables as row groups, and the footer with their counts of rows; return that footer."""
    # A table without rows is one slice.
    slices = (
        table.slice(start, ROW_GROUP)
        for table in tables
        for start in range(0, max(len(table), 1), ROW_GROUP)
    )
    first = next(slices)
    rows = Rows(footer)
    with pq.ParquetWriter(
        path,
        written_schema(),
        compression="zstd",
        write_page_checksum=True,
        # One page per column of a row group, since zstd finds repeats only within a page.
        max_rows_per_page=ROW_GROUP,
        data_page_size=8 << 20,
        # Without Arrow's schema the columns are plain, and every engine reads them alike.
        store_schema=False,
        **_encodings(first, compression_level),
    ) as writer:
        for part in itertools.chain([first], slices):
            writer.write_table(rows.complete(part))
        footer = msgspec.structs.replace(
            footer,
            trials=tuple(
                msgspec.structs.replace(trial, measurements=count)
                for trial, count in zip(footer.trials, rows.counts.tolist(), strict=True)
            ),
        )
        text = encode_footer(footer)
        writer.add_key_value_metadata({FOOTER_KEY: text})
    return decode_footer(text)


def _encodings(table: pa.Table, compression_level: int | None) -> dict[str, object]:
    """Choose the encodings of the columns, and their levels of zstd, from the first rows."""
    encodings = {"step": "DELTA_BINARY_PACKED"}
    table = table.slice(0, _SAMPLE)
    for name in metric_columns():
        if name in table.column_names and (name == BATCH_LOSS or _differ(table[name])):
            # The bytes of decimals with few digits repeat more when they are not split.
            few_digits = _have_few_digits(table[name])
            encodings[name] = "PLAIN" if few_digits else "BYTE_STREAM_SPLIT"
    names = shard_schema().names
    return {
        "use_dictionary": [name for name in names if name not in encodings],
        "column_encoding": encodings,
        "compression_level": {
            name: compression_level or (_LEVEL if name in encodings else _DICTIONARY_LEVEL)
            for name in names
        },
    }


def _differ(column: pa.ChunkedArray) -> bool:
    """Whether most values of a column differ from each other."""
    values = column.drop_null()
    return len(values.unique()) > _FEW_DISTINCT * len(values)


def _have_few_digits(column: pa.ChunkedArray) -> bool:
    """Whether most values of a column are decimals with at most six digits after the point."""
    values = column.drop_null().to_numpy().astype(np.float64)
    # The largest numbers overflow while they are rounded.
    with np.errstate(over="ignore", invalid="ignore"):
        return bool((values.round(_FEW_DIGITS) == values).sum() * 2 > len(values))


def _footer(file: pq.ParquetFile) -> Footer:
    """Return the footer of a shard whose row groups have as many rows as it lists."""
    held = file.metadata
    text = (held.metadata or {}).get(FOOTER_KEY.encode())
    if text is None:
        raise FooterError("it is not a shard: its metadata has no footer of dbtool's")
    footer = decode_footer(text)
    groups = [held.row_group(group).num_rows for group in range(held.num_row_groups)]
    listed = sum(trial.measurements for trial in footer.trials)
    if not sum(groups) == held.num_rows == listed:
        raise FooterError(f"it has {held.num_rows:,} rows and its footer lists {listed:,}")
    if max(groups, default=0) > ROW_GROUP:
        raise FooterError(
            f"it has a row group of {max(groups):,} rows, which may have {ROW_GROUP:,}"
        )
    return footer
