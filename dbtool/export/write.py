"""Writes measurements of a database into a file or a folder, whole or not at all."""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dbtool.errors import DbtoolError, UsageError
from dbtool.export.chunks import read_chunks, view_rows, view_schema
from dbtool.export.formats import TAR_ENDINGS, FileFormat
from dbtool.export.originals import FolderPlace, OriginalWriter, open_tar
from dbtool.export.tables import writing_arrow, writing_csv, writing_parquet
from dbtool.folders import make_parent
from dbtool.store.names import check_batch_sizes, matching_workloads
from dbtool.store.studies import count_measurements, studies_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import duckdb

    from dbtool.export.chunks import Chunk
    from dbtool.store.studies import HeldStudy

_TABLES = {
    FileFormat.PARQUET: writing_parquet,
    FileFormat.CSV: writing_csv,
    FileFormat.ARROW: writing_arrow,
}


@dataclass(frozen=True, slots=True)
class Selection:
    """Which measurements to write.

    Attributes:
        workloads: names, or patterns with *, ? and [] as in a shell.
        release: the release they belong to; None: any.
        batch_sizes: those of these studies alone; None: any.
    """

    workloads: Sequence[str] = ("*",)
    release: str | None = None
    batch_sizes: Sequence[int] | None = None

    def studies(self, connection: duckdb.DuckDBPyConnection) -> list[HeldStudy]:
        """The studies that are meant, by release, workload and batch size.

        Raises:
            UsageError: a name is not there.
        """
        names = matching_workloads(connection, self.workloads, self.release)
        check_batch_sizes(connection, names, self.release, self.batch_sizes or [])
        return studies_of(connection, names, self.release, self.batch_sizes)


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written.

    Attributes:
        studies: how many.
        trials: how many; in tables, those without measurements leave no trace.
        measurements: how many.
    """

    studies: int
    trials: int
    measurements: int


def export(
    connection: duckdb.DuckDBPyConnection,
    out: Path,
    file_format: FileFormat,
    selection: Selection,
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Exported:
    """Writes measurements by release, workload, batch size, trial and step.

    Memory holds a few hundred thousand of them at a time, or one trial's.

    Args:
        connection: the database.
        out: the file, or for the original layout the folder or tar file; not there yet.
        file_format: what it shall hold.
        selection: which measurements.
        on_progress: called now and then with the number of measurements that are written and that
            of all.

    Raises:
        UsageError: something is there already, a name is not, or the layout has no room for what
            was chosen.
        DbtoolError: writing failed; nothing is left of it then.
        duckdb.Error: the database could not be read.
    """
    if out.exists() or out.is_symlink():
        raise UsageError(f"{out} is there already: choose another name with --out or remove it")
    studies = selection.studies(connection)
    if file_format is FileFormat.ORIGINAL:
        _refuse_releases(studies)
    make_parent(out.absolute(), "choose another place with --out")
    total = count_measurements(connection, studies)
    trials = written = 0
    try:
        # Beside its place, because only a rename within one file system is atomic.
        with tempfile.TemporaryDirectory(dir=out.absolute().parent, prefix=f".{out.name}-") as made:
            scratch = Path(made, out.name)
            with _writing(connection, scratch, file_format) as write:
                for chunk in read_chunks(connection, studies):
                    write(chunk)
                    trials += len(chunk.trials)
                    written += chunk.rows.num_rows
                    on_progress(written, total)
            scratch.rename(out)
    except OSError as error:
        raise DbtoolError(
            f"could not write {out}: {error.strerror or error}; free some space or choose another "
            "place with --out, then run the command again"
        ) from error
    return Exported(len(studies), trials, written)


def _refuse_releases(studies: Sequence[HeldStudy]) -> None:
    """Refuses a workload of several releases, whose studies would have one folder.

    Raises:
        UsageError: there is one.
    """
    release_of: dict[str, str] = {}
    for study in studies:
        other = release_of.setdefault(study.workload, study.release)
        if other != study.release:
            raise UsageError(
                f"the releases {other} and {study.release} hold {study.workload}, and the original "
                f"layout has room for one: choose it, as in --release {other}"
            )


@contextlib.contextmanager
def _writing(
    connection: duckdb.DuckDBPyConnection, path: Path, file_format: FileFormat
) -> Iterator[Callable[[Chunk], None]]:
    """What writes chunks into a new file or folder, which is whole when the block ends."""
    if file_format is not FileFormat.ORIGINAL:
        with path.open("wb") as file, _TABLES[file_format](file, view_schema()) as write:
            yield lambda chunk: write(view_rows(chunk))
    elif path.name.endswith(TAR_ENDINGS):
        with path.open("wb") as file, open_tar(file, path.name) as place:
            yield OriginalWriter(connection.cursor(), place).write
    else:
        path.mkdir()
        yield OriginalWriter(connection.cursor(), FolderPlace(path)).write
