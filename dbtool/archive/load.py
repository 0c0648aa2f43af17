"""Imports an archive in the published format: one pass, each study whole or not at all."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import duckdb

from dbtool.archive.errors import ArchiveError, UnreadableError
from dbtool.archive.folder import count_files, folder_members
from dbtool.archive.gather import Gatherer
from dbtool.archive.measurements import Oddities
from dbtool.archive.members import Member
from dbtool.archive.published import RELEASE
from dbtool.archive.report import ImportReport, compare
from dbtool.archive.stream import open_stream
from dbtool.archive.study import StoredStudy, store_study
from dbtool.archive.table import published_studies
from dbtool.archive.tar import tar_members
from dbtool.errors import UsageError
from dbtool.store.database import file_of, writing_failed
from dbtool.store.statements import interruptible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dbtool.archive.gather import Gathered
    from dbtool.archive.members import Event

# A database's own share; the decoder, the files of unfinished studies and tables take the rest.
_MEMORY = "512MB"
_SETTINGS = {
    "memory_limit": _MEMORY,
    # The decoder needs the cores.
    "threads": str(max(1, (os.cpu_count() or 1) // 2)),
    # Each study ends in a part of a row group. Merging those would write everything twice.
    "max_vacuum_tasks": "0",
}


class ImportProgress(NamedTuple):
    """How far an import has come.

    Attributes:
        done: bytes of the archive, or files of the folder.
        total: all of them.
        measurements: measurements that were added.
    """

    done: int
    total: int
    measurements: int


def import_archive(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    *,
    release: str = RELEASE,
    strict: bool = False,
    on_progress: Callable[[ImportProgress], None] | None = None,
) -> ImportReport:
    """Loads an archive; trials that are malformed are left out and the rest goes in.

    Each study is one transaction. Stopped at any moment and run again, it ends with the rows of an
    undisturbed run; trials that are already there change nothing.

    Args:
        connection: from `open_for_writing`.
        path: a .tar.bz2, .tar.gz or .tar, or the folder that one was unpacked into.
        release: the name under which its rows are stored.
        strict: whether to stop at what is malformed.
        on_progress: called now and then.

    Raises:
        UsageError: there is no such path.
        ArchiveError: something is malformed, and `strict` holds.
        DbtoolError: the database could not be written; studies finished until then are stored.
    """
    if not path.exists():
        raise UsageError(f"there is no {path}: get the archive with `dbtool fetch`")
    database = Path(file_of(connection))
    try:
        with (
            interruptible(),
            _settings(connection),
            Gatherer(database.parent, _expected()) as gatherer,
        ):
            work = _Import(connection, gatherer, release, strict=strict)
            work.run(path, on_progress or (lambda _: None))
            # Closing would do it too, but under settings that merge and so write twice.
            connection.execute("CHECKPOINT")
            return work.report()
    except (duckdb.Error, OSError) as error:
        raise writing_failed(database, error, "dbtool import") from error


def _expected() -> dict[str, int]:
    """How many trials make a published study whole."""
    return {study.path: study.trials for study in published_studies()}


@contextlib.contextmanager
def _settings(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Sets a connection up for an import, and back."""
    before = {
        name: connection.execute("SELECT current_setting(?)", [name]).fetchall()[0][0]
        for name in _SETTINGS
    }
    for name, value in _SETTINGS.items():
        connection.execute(f"SET {name} = '{value}'")
    try:
        yield
    finally:
        # After a failed write the connection is beyond use.
        with contextlib.suppress(duckdb.Error):
            for name, value in before.items():
                connection.execute(f"SET {name} = '{value}'")


class _Import:
    """One run of `import_archive`: what it has done so far."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        gatherer: Gatherer,
        release: str,
        *,
        strict: bool,
    ) -> None:
        self._connection = connection
        self._gatherer = gatherer
        self._release = release
        self._strict = strict
        self._stored: list[StoredStudy] = []
        self._malformed: list[ArchiveError] = []
        self._failure: UnreadableError | None = None

    def run(self, path: Path, on_progress: Callable[[ImportProgress], None]) -> None:
        """Reads the archive and stores its studies.

        Raises:
            ArchiveError: something is malformed, and the import is strict.
        """
        try:
            for event in self._events(path, on_progress):
                if isinstance(event, Member):
                    self._add(event)
                else:
                    self._note(event)
            for study in self._gatherer.rest():
                self._store(study)
        except UnreadableError as error:
            if self._strict:
                raise
            self._failure = error

    def report(self) -> ImportReport:
        """What became of the archive."""
        connection, stored = self._connection, self._stored
        return ImportReport(
            studies=sum(study.is_new for study in stored),
            trials=sum(study.trials for study in stored),
            measurements=self._measurements,
            already_there=sum(study.already_there for study in stored),
            left_out=sum(study.left_out for study in stored),
            malformed=tuple(self._malformed),
            oddities=sum((study.oddities for study in stored), Oddities()),
            failure=self._failure,
            comparison=compare(connection, self._release) if self._release == RELEASE else None,
        )

    @property
    def _measurements(self) -> int:
        return sum(study.measurements for study in self._stored)

    def _events(self, path: Path, on_progress: Callable[[ImportProgress], None]) -> Iterator[Event]:
        """What the archive holds, with progress told in between."""
        if path.is_dir():
            total, done = count_files(path), 0

            def on_file() -> None:
                nonlocal done
                done += 1
                on_progress(ImportProgress(done, total, self._measurements))

            yield from folder_members(path, on_file)
            return
        with open_stream(path) as stream:

            def on_block() -> None:
                on_progress(ImportProgress(stream.position, stream.total, self._measurements))

            yield from tar_members(stream, on_block)

    def _add(self, member: Member) -> None:
        """Keeps a member, and stores its study when that is whole."""
        try:
            study = self._gatherer.add(member)
        except UnreadableError:
            raise
        except ArchiveError as error:
            self._note(error)
            return
        if study is not None:
            self._store(study)

    def _store(self, study: Gathered) -> None:
        stored = store_study(
            self._connection, study, self._gatherer.measurements_of, self._release, self._note
        )
        self._stored.append(stored)

    def _note(self, error: ArchiveError) -> None:
        """Notes what is malformed.

        Raises:
            ArchiveError: the import is strict.
        """
        if self._strict:
            raise error
        self._malformed.append(error)
