"""The archive of 2018, or another in its format, as a source: one pass, each study complete."""

import contextlib
import os
import shlex
import tempfile
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from dbtool.core.catalog import published_studies
from dbtool.core.errors import UsageError, counted
from dbtool.core.files import expanded
from dbtool.core.http import as_url
from dbtool.core.manifest import About, check_name
from dbtool.core.release import telling_of_change
from dbtool.core.shards import not_written
from dbtool.core.walk import walk
from dbtool.sources.ahead import in_order
from dbtool.sources.archive import published
from dbtool.sources.archive.members import (
    STUDY,
    Gathered,
    Member,
    Spilled,
    folder_members,
    tar_members,
)
from dbtool.sources.archive.study import StudyReader
from dbtool.sources.base import (
    Addition,
    MalformedError,
    NewShard,
    OnMessage,
    OnProgress,
    Report,
    add_source,
    conclude,
)
from dbtool.sources.tar_stream import UnreadableError
from dbtool.store.locations import folder_to_write

_GIVE = "give a .tar.bz2, .tar.gz or .tar of the published format, or the folder of one"
# Studies that are read, or wait to be, while the next one is gathered.
_MOST_READING = 2
_MOST_IN_MEMORY = 384 << 20


class Gatherer:
    """The studies that are not complete yet.

    What outgrows memory goes to a file without a name, which vanishes with the process however
    that ends.
    """

    def __init__(self, report: Report) -> None:
        """Start without studies."""
        self._report = report
        self._studies: dict[str, Gathered] = {}
        self._spill = tempfile.TemporaryFile(dir=report.folder, prefix=".dbtool-import-")  # noqa: SIM115 (closed by __exit__)
        self._in_memory = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # On a full disk, closing it raises an error, after one that says more.
        with contextlib.suppress(OSError):
            self._spill.close()

    def studies(self, members: Iterable[Member | MalformedError]) -> Generator[Gathered]:
        """Yield each study once all its published trials are there, and the others at the end."""
        expected = {study.path: study.trials for study in published_studies()}
        try:
            for member in members:
                if isinstance(member, MalformedError):
                    self._report.malformed.append(member)
                    continue
                study = self._keep(member)
                if study.whole == expected.get(study.path) and STUDY in study.files.get("", {}):
                    yield self._forget(study.path)
            while self._studies:
                yield self._forget(next(iter(self._studies)))
        except UnreadableError as error:
            self._report.failure = error

    def _keep(self, member: Member) -> Gathered:
        """Keep a member, unless the same file arrived before; return its study."""
        study = self._studies.setdefault(member.study, Gathered(member.study))
        files = study.files.setdefault(member.trial, {})
        if member.file not in files:
            files[member.file] = member.body
            study.whole += len(files) == 2
            self._in_memory += len(member.body)
            if self._in_memory > _MOST_IN_MEMORY:
                self._empty_memory()
        elif study.read(member.trial, member.file) != member.body:
            name = "/".join(filter(None, (member.study, member.trial, member.file)))
            reason = "it is in the archive twice, with different contents"
            self._report.malformed.append(MalformedError(name, reason))
        return study

    def _forget(self, path: str) -> Gathered:
        study = self._studies.pop(path)
        bodies = (body for files in study.files.values() for body in files.values())
        self._in_memory -= sum(len(body) for body in bodies if isinstance(body, bytes))
        return study

    def _empty_memory(self) -> None:
        try:
            for study in self._studies.values():
                for files in study.files.values():
                    for name, body in files.items():
                        if isinstance(body, bytes):
                            files[name] = Spilled.write(body, self._spill)
            self._spill.flush()
        except OSError as error:
            raise not_written(self._report.folder, error) from error
        self._in_memory = 0


@dataclass(frozen=True)
class ArchiveSource:
    """An archive in the published format; see `dbtool.sources.base.Source`.

    Each study becomes a shard. Malformed trials are dropped and the others are stored.
    """

    path: Path
    release: str = published.RELEASE

    def __post_init__(self) -> None:
        if not self.path.exists():
            raise UsageError(f"there is no {self.path}: get the archive with `dbtool fetch`")
        if not (self.path.is_file() or self.path.is_dir()):
            raise UsageError(f"{self.path} is neither a file nor a folder: {_GIVE}")

    @property
    def about(self) -> About:
        """Return the licence and the citation, for a release named as the published one."""
        if self.release != published.RELEASE:
            return About(release=self.release)
        return published.ABOUT

    def studies(self, addition: Addition) -> Iterator[NewShard]:
        """Yield the shards of each study when its last trial has arrived.

        Raises:
            UsageError: the archive has no study.
        """
        report, reader = addition.report, StudyReader(addition)
        read = folder_members if self.path.is_dir() else tar_members
        members = read(self.path, addition.on_progress)
        found = False
        with (
            Gatherer(report) as gatherer,
            contextlib.closing(gatherer.studies(members)) as studies,
            ThreadPoolExecutor(1) as reading,
        ):
            for shard in in_order(reading, reader.read, studies, _MOST_READING):
                found = True
                if shard:
                    yield shard
        if not (found or report.malformed or report.failure):
            raise UsageError(_nothing_in(self.path))


def _nothing_in(path: Path) -> str:
    if path.is_dir() and any(entry.name.endswith(".parquet") for entry in walk(path)):
        return (
            f"{path} holds no archive but Parquet files: add a release folder with "
            f"`dbtool ingest {shlex.quote(str(path))}`"
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
    with telling_of_change(folder, on_message):
        report = add_source(source, folder, on_progress=on_progress)
        added = report.added(f"{counted(report.studies, 'study', 'studies')} with ")
        more = published.compared(folder) if release == published.RELEASE else ()
        return conclude(report, added, on_message, more)
