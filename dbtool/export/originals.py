"""The layout of the published archive, as a folder or a tar file."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import tarfile
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, Protocol, cast

import numpy as np
import polars as pl

from dbtool.archive.lines import split_header
from dbtool.archive.original import COLUMNS, metadata_json, renamed, study_json
from dbtool.archive.published import ROOT
from dbtool.errors import DbtoolError
from dbtool.store.contract import OTHER_METRICS
from dbtool.store.sql import statement

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import duckdb

    from dbtool.export.chunks import Chunk
    from dbtool.store.studies import HeldStudy

_NEWLINE = ord("\n")


class Place(Protocol):
    """Where files go."""

    def put(self, name: str, contents: bytes) -> None:
        """Writes a file.

        Args:
            name: its path, with slashes.
            contents: all of it.
        """


class FolderPlace:
    """A folder."""

    def __init__(self, folder: Path) -> None:
        """Takes a folder.

        Args:
            folder: which is there.
        """
        self._folder = folder

    def put(self, name: str, contents: bytes) -> None:
        """Writes a file."""
        path = self._folder / name
        try:
            path.write_bytes(contents)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(contents)


class TarPlace:
    """A tar file; the same files give the same bytes."""

    def __init__(self, archive: tarfile.TarFile) -> None:
        """Takes an archive.

        Args:
            archive: open to write.
        """
        self._archive = archive

    def put(self, name: str, contents: bytes) -> None:
        """Writes a file."""
        info = tarfile.TarInfo(name)
        info.size = len(contents)
        self._archive.addfile(info, io.BytesIO(contents))


@contextlib.contextmanager
def open_tar(file: BinaryIO, name: str) -> Iterator[TarPlace]:
    """A tar file to write to, compressed as its name says.

    Args:
        file: where it goes.
        name: which ends with one of formats.TAR_ENDINGS.
    """
    with contextlib.ExitStack() as stack:
        mode: Literal["w|", "w|bz2"] = "w|bz2" if name.endswith(".bz2") else "w|"
        if name.endswith(".gz"):
            # The time would make the bytes differ.
            packed = gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0)
            file = cast("BinaryIO", stack.enter_context(packed))
        yield TarPlace(stack.enter_context(tarfile.open(fileobj=file, mode=mode)))


class OriginalWriter:
    """Writes studies in the archive's layout."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, place: Place) -> None:
        """Begins below the archive's root.

        Args:
            connection: the database, to look at studies as wholes.
            place: where the files go.
        """
        self._connection = connection
        self._place = place
        self._columns: list[str] = []

    def write(self, chunk: Chunk) -> None:
        """Writes trials of a study, and the study where they are its first.

        Raises:
            DbtoolError: a metric's name cannot stand in a header.
        """
        study = chunk.study
        folder = f"{ROOT}/{study.workload}/{study.batch_size}"
        if chunk.is_first:
            self._columns = _held_columns(self._connection, study)
            self._place.put(f"{folder}/study.json", _json(study_json(study)))
        texts = _texts(chunk, self._columns)
        for trial, text in zip(chunk.trials, texts, strict=True):
            metadata = _json(metadata_json(study, trial))
            self._place.put(f"{folder}/{trial.trial_id}/metadata.json", metadata)
            self._place.put(f"{folder}/{trial.trial_id}/measurements.csv", text)


def _held_columns(connection: duckdb.DuckDBPyConnection, study: HeldStudy) -> list[str]:
    """The columns of metrics that a study has a value of, in the archive's order.

    Of the study and not of the trial, because the archive's files of a study have one header.
    """
    found = connection.execute(statement("count_metrics"), {"study_id": study.study_id})
    [counts] = found.fetchall()
    held = {name for (name, *_), count in zip(found.description, counts, strict=True) if count}
    return [name for name in COLUMNS if name in held]


def _texts(chunk: Chunk, columns: Sequence[str]) -> Iterator[bytes]:
    """The measurements.csv of each trial of a chunk.

    Raises:
        DbtoolError: a metric's name cannot stand in a header.
    """
    rows = pl.DataFrame(chunk.rows)
    plain = rows[OTHER_METRICS].null_count() == rows.height
    # One text for all of them, cut afterwards, takes a fraction of the time of one for each.
    lines = _Lines(renamed(rows, columns)) if plain else None
    start = 0
    for trial in chunk.trials:
        end = start + trial.measurements
        if lines is not None:
            yield lines.header + lines.between(start, end)
        else:
            own = _Lines(renamed(rows[start:end], columns))
            yield own.header + own.between(0, end - start)
        start = end


class _Lines:
    """Measurements as CSV, each a line."""

    def __init__(self, rows: pl.DataFrame) -> None:
        """Writes rows.

        Args:
            rows: trial_id, which is left out, and the columns of the file.

        Raises:
            DbtoolError: a column's name cannot stand in a header.
        """
        rows = rows.drop("trial_id")
        self.header = rows.clear().write_csv().encode()
        _check_header(self.header, rows.columns)
        self._text = rows.write_csv(include_header=False).encode()
        # Numbers alone: no line is broken.
        ends = np.flatnonzero(np.frombuffer(self._text, np.uint8) == _NEWLINE) + 1
        self._places = np.concatenate([np.zeros(1, ends.dtype), ends])

    def between(self, first: int, last: int) -> bytes:
        """The lines from one number on and before another."""
        return self._text[self._places[first] : self._places[last]]


def _check_header(header: bytes, columns: Sequence[str]) -> None:
    """Makes sure that `dbtool import` reads the columns that were written.

    Raises:
        DbtoolError: it would not.
    """
    line, _, rest = header.partition(b"\n")
    with contextlib.suppress(ValueError):
        if not rest and split_header(line) == tuple(columns):
            return
    odd = next((name for name in columns if not name.isprintable() or name != name.strip()), "")
    raise DbtoolError(
        f"the metric {odd!r} cannot stand in a header of the original format: "
        "choose another --format"
    )


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=2).encode()
