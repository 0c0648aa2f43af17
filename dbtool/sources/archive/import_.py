"""Imports an archive in the published format: one pass, each study whole or not at all."""

from __future__ import annotations

import contextlib
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from dbtool.core.errors import UsageError
from dbtool.core.files import make_folder
from dbtool.core.manifest import About
from dbtool.core.walk import walk
from dbtool.core.writer import ReleaseWriter
from dbtool.sources.archive.gather import Gatherer
from dbtool.sources.archive.members import ArchiveError, UnreadableError, folder_members
from dbtool.sources.archive.published import CITATION, LICENCE, RELEASE, TITLE
from dbtool.sources.archive.report import ImportReport, compare
from dbtool.sources.archive.stream import open_stream
from dbtool.sources.archive.study import read_study
from dbtool.sources.archive.table import published_studies
from dbtool.sources.archive.tar import tar_members

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from pathlib import Path

    import pyarrow as pa

    from dbtool.core.footer import Footer
    from dbtool.core.shards import Shard
    from dbtool.sources.archive.gather import Gathered
    from dbtool.sources.archive.members import Member

    OnProgress = Callable[[int, int], None]
    Read = Future[tuple[Footer, pa.Table] | None]
    Written = Future[tuple[Shard, bool] | None]

_GIVE = "give a .tar.bz2, .tar.gz or .tar of the published format, or the folder of one"
# Studies that may be written at a time, and wait to be while the next ones are read.
_WRITERS = 2
_MOST_WAITING = 3


def import_archive(
    folder: Path,
    path: Path,
    *,
    release: str = RELEASE,
    on_progress: OnProgress = lambda _done, _total: None,
) -> ImportReport:
    """Adds an archive to a release; trials that are malformed are left out and the rest goes in.

    Each study is a shard. Stopped at any moment and run again, it ends with the rows of an
    undisturbed run; trials that are already there change nothing.

    Args:
        folder: the release folder, which is made where there is none.
        path: a .tar.bz2, .tar.gz or .tar, or the folder that one was unpacked into.
        release: the release's name.
        on_progress: called now and then with the bytes of the archive, or the files of the folder,
            that were read, and all of them.

    Raises:
        UsageError: there is no such path, or it holds no study.
        DbtoolError: the release could not be written; studies finished until then are there.

    Example:
        >>> import_archive(Path("releases/published"), Path("batch_science_data.tar.bz2")).trials
        194399
    """
    if not path.exists():
        raise UsageError(f"there is no {path}: get the archive with `dbtool fetch`")
    if not (path.is_file() or path.is_dir()):
        raise UsageError(f"{path} is neither a file nor a folder: {_GIVE}")
    make_folder(folder, "name another one with --db")
    about = About(release=release)
    if release == RELEASE:
        about = About(release=release, title=TITLE, licence=LICENCE, citation=CITATION)
    report = ImportReport()
    expected = {study.path: study.trials for study in published_studies()}
    with ReleaseWriter(folder, about) as writer, Gatherer(folder, expected) as gatherer:
        found = False
        with (
            contextlib.closing(_studies(gatherer, _members(path, on_progress), report)) as studies,
            ThreadPoolExecutor(1) as reading,
            ThreadPoolExecutor(_WRITERS) as writing,
        ):
            waiting: dict[str, Written] = {}
            for study in studies:
                found = True
                # What comes late of a study is held against what came before.
                while len(waiting) > _MOST_WAITING or study.path in waiting:
                    _count(waiting.pop(next(iter(waiting))), report)
                shard = reading.submit(read_study, study, writer.index, report)
                waiting[study.path] = writing.submit(_write, shard, writer)
            for written in waiting.values():
                _count(written, report)
        if not (found or report.malformed or report.failure):
            raise UsageError(_nothing_in(path))
        if release == RELEASE:
            report.comparison = compare(writer.index)
    return report


def _studies(
    gatherer: Gatherer, members: Iterator[Member | ArchiveError], report: ImportReport
) -> Generator[Gathered]:
    """The studies of an archive, each once it is whole, and at its end the others."""
    try:
        for member in members:
            found = member if isinstance(member, ArchiveError) else gatherer.add(member)
            if isinstance(found, ArchiveError):
                report.malformed.append(found)
            elif found is not None:
                yield found
        yield from gatherer.rest()
    except UnreadableError as error:
        report.failure = error


def _members(path: Path, on_progress: OnProgress) -> Iterator[Member | ArchiveError]:
    if path.is_dir():
        yield from folder_members(path, on_progress)
    else:
        with open_stream(path, on_progress) as stream:
            yield from tar_members(stream)


def _write(shard: Read, writer: ReleaseWriter) -> tuple[Shard, bool] | None:
    """Stores what was read of a study; returns its shard, and whether the study is new."""
    if (found := shard.result()) is None:
        return None
    footer, table = found
    key = footer.study.workload.workload, footer.study.batch_size
    is_new = key not in writer.index.studies
    return writer.write(footer, [table]), is_new


def _count(written: Written, report: ImportReport) -> None:
    """Waits until a study is stored, and counts it."""
    if (found := written.result()) is not None:
        shard, is_new = found
        report.studies += is_new
        report.measurements += shard.rows
        report.trials += len(shard.footer.trials)


def _nothing_in(path: Path) -> str:
    if path.is_dir() and any(entry.name.endswith(".parquet") for entry in walk(path)):
        return (
            f"{path} holds no archive but Parquet files: add a release folder with "
            f"`dbtool ingest {path}`"
        )
    return f"{path} holds no study, as DATASET/MODEL/OPTIMIZER/BATCH_SIZE/study.json: {_GIVE}"
