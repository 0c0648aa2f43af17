"""The archive of 2018, or another in its format, as a source: one pass, each study complete."""

from __future__ import annotations

import contextlib
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbtool.core.catalog import published_studies
from dbtool.core.errors import UsageError, counted
from dbtool.core.files import expanded, make_folder
from dbtool.core.http import as_url
from dbtool.core.manifest import About, check_name
from dbtool.core.release import telling_of_change
from dbtool.core.walk import walk
from dbtool.sources.archive.gather import Gatherer
from dbtool.sources.archive.members import UnreadableError, folder_members, tar_members
from dbtool.sources.archive.published import (
    ARCHIVE_CITATION,
    ARCHIVE_TITLE,
    LICENCE,
    RELEASE,
    compared,
)
from dbtool.sources.archive.stream import open_stream
from dbtool.sources.archive.study import StudyReader
from dbtool.sources.base import MalformedError, add_source, conclude
from dbtool.store.locations import folder_to_write

if TYPE_CHECKING:
    import os
    from collections.abc import Generator, Iterator
    from concurrent.futures import Future
    from pathlib import Path

    from dbtool.sources.archive.gather import Gathered
    from dbtool.sources.archive.members import Member
    from dbtool.sources.base import Addition, NewShard, OnMessage, OnProgress, Report

_GIVE = "give a .tar.bz2, .tar.gz or .tar of the published format, or the folder of one"
# Studies that are read, or wait to be, while the next one is gathered.
_MOST_READING = 2


@dataclass(frozen=True)
class ArchiveSource:
    """An archive in the published format; see `dbtool.sources.base.Source`.

    Each study becomes a shard. Malformed trials are dropped and the others are stored.

    Attributes:
        path: a .tar.bz2, .tar.gz or .tar, or the folder that one was unpacked into.
        release: the release's name.
    """

    path: Path
    release: str = RELEASE

    def __post_init__(self) -> None:
        if not self.path.exists():
            raise UsageError(f"there is no {self.path}: get the archive with `dbtool fetch`")
        if not (self.path.is_file() or self.path.is_dir()):
            raise UsageError(f"{self.path} is neither a file nor a folder: {_GIVE}")

    @property
    def about(self) -> About:
        """Return the licence and the citation, for a release named as the published one."""
        if self.release == RELEASE:
            return About(
                release=RELEASE, title=ARCHIVE_TITLE, licence=LICENCE, citation=ARCHIVE_CITATION
            )
        return About(release=self.release)

    def studies(self, addition: Addition) -> Iterator[NewShard]:
        """Yield each study when its last trial has arrived, and the other studies at the end.

        Raises:
            UsageError: the archive has no study.
        """
        report, reader = addition.report, StudyReader(addition)
        expected = {study.path: study.trials for study in published_studies()}
        found = False
        with (
            Gatherer(report.folder, expected) as gatherer,
            contextlib.closing(_gathered(gatherer, self._members(addition), report)) as studies,
            ThreadPoolExecutor(1) as reading,
        ):
            ahead: deque[Future[NewShard | None]] = deque()
            for study in studies:
                found = True
                ahead.append(reading.submit(reader.read, study))
                if len(ahead) > _MOST_READING and (shard := ahead.popleft().result()):
                    yield shard
            yield from (shard for each in ahead if (shard := each.result()))
        if not (found or report.malformed or report.failure):
            raise UsageError(_nothing_in(self.path))

    def _members(self, addition: Addition) -> Iterator[Member | MalformedError]:
        if self.path.is_dir():
            yield from folder_members(self.path, addition.on_progress)
        else:
            with open_stream(self.path, addition.on_progress) as stream:
                yield from tar_members(stream)


def _gathered(
    gatherer: Gatherer, members: Iterator[Member | MalformedError], report: Report
) -> Generator[Gathered]:
    """Yield each study of an archive once it is complete, and the others at its end."""
    try:
        for member in members:
            found = member if isinstance(member, MalformedError) else gatherer.add(member)
            if isinstance(found, MalformedError):
                report.malformed.append(found)
            elif found is not None:
                yield found
        yield from gatherer.rest()
    except UnreadableError as error:
        report.failure = error


def _nothing_in(path: Path) -> str:
    if path.is_dir() and any(entry.name.endswith(".parquet") for entry in walk(path)):
        return (
            f"{path} holds no archive but Parquet files: add a release folder with "
            f"`dbtool ingest {path}`"
        )
    return f"{path} holds no study, as DATASET/MODEL/OPTIMIZER/BATCH_SIZE/study.json: {_GIVE}"


def import_archive(
    path: str | os.PathLike[str],
    into: str | os.PathLike[str] | None = None,
    *,
    release: str = "published",
    on_progress: OnProgress = lambda _done, _total: None,
    on_message: OnMessage = lambda _sentence: None,
) -> Report:
    """Import an archive in the published format into a release of yours.

    Trials that the release already has change nothing, so an interrupted import goes on when
    called again.

    Example:
        dbtool.import_archive("batch_science_data.tar.bz2", on_message=print).trials

    Args:
        path: a .tar.bz2, .tar.gz or .tar, or the folder that one was unpacked into.
        into: as in `ingest`.
        release: the name under which the rows are stored.
        on_progress: called with the bytes of the archive, or the files of the folder, that were
            read, and with all of them.
        on_message: called with each sentence that `dbtool import` prints, such as `print`.

    Raises:
        UsageError: the path does not exist, or it has no study.
        DbtoolError: trials are malformed, or the archive cannot be read to its end; the rest is
            stored, and `on_message` reports why. Or the release cannot be written.
    """
    check_name(release)
    if url := as_url(path):
        raise UsageError(f"{url} is a URL: download it first with `dbtool fetch --url {url}`")
    folder = folder_to_write(into, release)
    source = ArchiveSource(expanded(path), release)
    make_folder(folder, "name another one with --db")
    with telling_of_change(folder, on_message):
        report = add_source(source, folder, on_progress=on_progress)
        added = report.added(f"{counted(report.studies, 'study', 'studies')} with ")
        more = compared(folder) if release == RELEASE else ()
        return conclude(report, added, on_message, more)
