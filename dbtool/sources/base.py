"""What a source of measurements is, and the one way in which it is added to a release folder.

Example:
    @dataclass(frozen=True)
    class OneRun:
        paths: Sequence[Path]
        about = About(release="one-run")

        def studies(self, addition: Addition) -> Iterator[NewShard]:
            yield Footer(study=…, trials=(…,), producer={}), [table]

    add_source(OneRun([path]), Path("releases/one-run")).trials
"""

from __future__ import annotations

import contextlib
from collections import Counter, deque
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from dbtool.core.errors import DbtoolError, counted, printable
from dbtool.core.index import Index
from dbtool.core.shards import Shard, not_written, read_tables
from dbtool.core.writer import ReleaseWriter
from dbtool.store.shard_files import copy_shard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from dbtool.core.footer import Footer
    from dbtool.core.manifest import About

    OnProgress = Callable[[int, int], None]
    OnMessage = Callable[[str], None]

# Shards that are written at a time, and wait to be while the next ones are read.
_WRITERS = 2
_MOST_WAITING = 2


class MalformedError(DbtoolError):
    """Part of a source is malformed.

    Attributes:
        path: what it is, such as the member of an archive or a file.
        reason: what is wrong with it, such as "it has no status".
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{printable(path)}: {printable(reason)}")
        self.path = path
        self.reason = reason


@dataclass(frozen=True)
class StoredShard:
    """The rows of a shard of another release folder, whose file is copied as it is."""

    folder: Path
    shard: Shard

    def __iter__(self) -> Iterator[pa.Table]:
        return read_tables(self.folder / self.shard.path)


NewShard: TypeAlias = "tuple[Footer, Iterable[pa.Table]]"
"""Trials of a study: the footer of their shard, and its rows as `dbtool.core.shards.write_shard`
takes them."""


@dataclass
class Report:
    """What became of a source.

    Attributes:
        release: the release that it was added to.
        folder: where that lies.
        shards: how many were added.
        studies: how many of their studies had no trials there.
        trials: how many were added.
        measurements: of these trials.
        already_there: trials (of another release, shards) that the release had.
        malformed: why parts of the source were refused.
        left_out: trials that were refused with them.
        oddities: how often the source has what is unusual and kept, by what it is called.
        failure: why the source was not read to its end; None where it was.
    """

    release: str
    folder: Path
    shards: int = 0
    studies: int = 0
    trials: int = 0
    measurements: int = 0
    already_there: int = 0
    malformed: list[MalformedError] = field(default_factory=list)
    left_out: int = 0
    oddities: Counter[str] = field(default_factory=Counter)
    failure: MalformedError | None = None

    def leave_out(self, error: MalformedError, trials: int = 1) -> None:
        """Count trials that are refused, and keep the reason."""
        self.malformed.append(error)
        self.left_out += trials

    def added(self, units: str = "", there: str = "trial") -> str:
        """Return the sentence that says what was added.

        Args:
            units: what the trials lie in, such as "2 shards with ".
            there: what `already_there` counts.
        """
        return (
            f"added {units}{counted(self.trials, 'trial')} and "
            f"{counted(self.measurements, 'measurement')} to {self.release}; "
            f"{counted(self.already_there, there)} already there"
        )


@dataclass
class Addition:
    """A source on its way into a release.

    Attributes:
        report: takes what the source has to say beside its studies.
        held: the index of what the release holds.
        on_progress: called with how much of the source has been read, and all of it.
    """

    report: Report
    held: Index = field(default_factory=Index)
    on_progress: OnProgress = lambda _done, _total: None


class Source(Protocol):
    """Measurements that can be added to a release."""

    @property
    def about(self) -> About:
        """The name of the release, and what it says of itself."""

    def studies(self, addition: Addition) -> Iterable[NewShard]:
        """Return the shards to add.

        Trials that the release holds with the same `Trial.source` are left out. So a source may
        return all that it has, or look into `addition.held` for what it need not read.

        A generator is stored while it is read. A list is checked first: where one of its shards
        clashes with what is there, nothing is added.
        """


def add_source(
    source: Source,
    folder: Path,
    *,
    about: About | None = None,
    on_progress: OnProgress = lambda _done, _total: None,
) -> Report:
    """Add what a source has to a release; what is there already changes nothing.

    An addition that is stopped at any moment and done again ends with the rows of one that was not
    stopped.

    Args:
        source: what is added.
        folder: the release folder, which is made where there is none.
        about: what the release says of itself; None: what the source says.
        on_progress: called with the shards of a list that were stored and all of them, or as the
            source does.

    Raises:
        UsageError: the folder holds a release of another name.
        ClashError: something disagrees with what is there.
        DbtoolError: the release could not be written; shards finished until then are there.
    """
    about = about or source.about
    report = Report(about.release, folder)
    with ReleaseWriter(folder, about) as writer:
        known = set(writer.index.studies)
        addition = Addition(report, writer.index, on_progress)
        studies = source.studies(addition)
        new, total = _new(studies, addition), None
        if isinstance(studies, list):
            checked = list(new)
            for footer, _ in checked:
                writer.refuse_clash(footer)
            new, total = (each for each in checked), len(checked)
        with contextlib.closing(new), ThreadPoolExecutor(_WRITERS) as pool:
            waiting: deque[Future[Shard]] = deque()
            for footer, rows in new:
                waiting.append(pool.submit(_store, writer, footer, rows))
                if len(waiting) > _MOST_WAITING:
                    _count(waiting.popleft().result(), known, addition, total)
                addition.held = writer.index
            for written in waiting:
                _count(written.result(), known, addition, total)
    return report


def _new(studies: Iterable[NewShard], addition: Addition) -> Generator[NewShard]:
    """The shards without the trials that the release holds."""
    with contextlib.ExitStack() as stack:
        if isinstance(studies, Generator):
            stack.callback(studies.close)
        for footer, rows in studies:
            there = addition.held.trials_of(*footer.study.key)
            new = tuple(
                trial
                for trial in footer.trials
                if trial.source is None
                or there.get(trial.trial_id, {}).get("source") != trial.source
            )
            if len(new) == len(footer.trials) or isinstance(rows, StoredShard):
                yield footer, rows
                continue
            addition.report.already_there += len(footer.trials) - len(new)
            if new:
                is_new = pc.field("trial_id").isin([trial.trial_id for trial in new])
                tables = (table.filter(is_new) for table in rows)
                yield msgspec.structs.replace(footer, trials=new), tables


def _store(writer: ReleaseWriter, footer: Footer, rows: Iterable[pa.Table]) -> Shard:
    if not isinstance(rows, StoredShard):
        return writer.write(footer, rows)
    try:
        copy_shard(rows.folder, rows.shard, writer.folder)
    except OSError as error:
        raise not_written(writer.folder, error) from error
    writer.add(rows.shard)
    return rows.shard


def _count(
    shard: Shard, known: set[tuple[str, int]], addition: Addition, total: int | None
) -> None:
    report, key = addition.report, shard.footer.study.key
    report.shards += 1
    report.studies += key not in known
    known.add(key)
    report.trials += len(shard.footer.trials)
    report.measurements += shard.rows
    if total is not None:
        addition.on_progress(report.shards, total)


def conclude(report: Report, added: str, on_message: OnMessage, more: Iterable[str] = ()) -> Report:
    """Tell what became of a source.

    Args:
        report: of `add_source`.
        added: what was added, from `Report.added`.
        on_message: called with each sentence.
        more: what else there is to say.

    Raises:
        DbtoolError: parts of the source were refused, or it was not read to its end. The rest is
            stored.
    """
    failure = report.failure
    if failure is not None and not (report.trials or report.already_there):
        raise DbtoolError(str(failure)) from failure
    for sentence in (*(f"left out {error}" for error in report.malformed), added):
        on_message(sentence)
    if report.oddities:
        kept = ", ".join(f"{count:,} {name}" for name, count in report.oddities.most_common())
        on_message(f"kept as they are: {kept}")
    for sentence in (*more, where([report])):
        on_message(sentence)
    if failure is not None:
        raise DbtoolError(
            f"{failure}; studies that were whole until then are stored, and the same command goes "
            "on with a sound archive"
        )
    if report.malformed:
        raise DbtoolError(
            f"{counted(len(report.malformed), 'malformed file')} and "
            f"{counted(report.left_out, 'trial')} were left out, as listed above; mend them and "
            "give the same command again"
        )
    return report


def where(reports: Sequence[Report]) -> str:
    """The sentence that says in which folder releases lie, or their folders do."""
    [folder, *others] = dict.fromkeys(report.folder for report in reports)
    return f"in {folder.parent if others else folder}"
