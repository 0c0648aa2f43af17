"""The protocol of a source of measurements, and the one way to add it to a release folder.

Example:
    @dataclass(frozen=True)
    class OneRun:
        paths: Sequence[Path]
        about = About(release="one-run")

        def studies(self, addition: Addition) -> Iterator[NewShard]:
            yield Footer(study=…, trials=(…,), producer={}), [table]

    add_source(OneRun([path]), Path("releases/one-run")).trials
"""

import contextlib
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from dbtool import __version__
from dbtool.core.contract import direction_note
from dbtool.core.errors import DbtoolError, counted, joined, printable
from dbtool.core.files import made_folder
from dbtool.core.footer import Footer, Trial
from dbtool.core.index import HeldTrial, Index, differences
from dbtool.core.manifest import About
from dbtool.core.release import load_shard
from dbtool.core.shards import Shard, not_written, read_tables
from dbtool.core.writer import ReleaseWriter
from dbtool.sources.ahead import in_order
from dbtool.store.shard_files import copy_shard

if TYPE_CHECKING:
    import polars as pl

OnProgress: TypeAlias = Callable[[int, int], None]
OnMessage: TypeAlias = Callable[[str], None]
# Shards that are written at a time, and wait to be while the next ones are read.
_WRITERS = 2
_MOST_WAITING = 2


class MalformedError(DbtoolError):
    """Part of a source is malformed.

    Attributes:
        path: the part, such as a file or the member of an archive.
        reason: what is wrong with it, such as "it has no status".
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{printable(path)}: {printable(reason)}")
        self.path = path
        self.reason = reason


@dataclass(frozen=True)
class StoredShard:
    """The rows of a shard of another release folder, whose file is copied unchanged."""

    folder: Path
    shard: Shard

    def __iter__(self) -> Iterator[pa.Table]:
        return read_tables(self.folder / self.shard.path)

    def difference(self, trial: Trial, held: "StoredShard") -> str | None:
        """Return what differs first in a trial that another shard has, too, of what counts.

        As for `dbtool diff`, names and sources of trials and how they were trained do not count.
        """
        [other] = [each for each in held.shard.footer.trials if each.trial_id == trial.trial_id]
        other = msgspec.structs.replace(other, name=trial.name, source=trial.source)
        if facts := differences(other, trial):
            return facts[0]
        new, old = (each._rows_of(trial.trial_id) for each in (self, held))
        for name in new.columns:
            unequal = new[name].ne_missing(old[name]).arg_true()
            if len(unequal):
                values = f"{new[name][unequal[0]]}, there {old[name][unequal[0]]}"
                return f"{name} at step {new['step'][unequal[0]]} ({values})"
        return None

    def _rows_of(self, trial_id: int) -> "pl.DataFrame":
        import polars as pl

        path = self.folder / self.shard.path
        rows = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        return rows.filter(pl.col("trial_id") == trial_id).collect()


NewShard: TypeAlias = tuple[Footer, Iterable[pa.Table]]
"""Trials of a study: the footer of their shard, and its rows for
`dbtool.core.shards.write_shard`.
"""


@dataclass
class Report:
    """The outcome of adding a source.

    Attributes:
        release: the release that the source was added to.
        folder: the folder of that release.
        shards: how many shards were added.
        studies: how many of their studies had no trials in the release before.
        trials: how many trials were added.
        measurements: how many measurements these trials have.
        already_there: trials that the release already had.
        malformed: why parts of the source were refused.
        left_out: how many trials were refused with them.
        unused: the parts of the source that hold no run that can be stored, by reason.
        oddities: counts of unusual things in the source that are kept, by name.
        failure: why the source was not read to its end; None where it was.
        notes: sentences about what the source and the release have together.
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
    unused: dict[str, list[str]] = field(default_factory=dict)
    oddities: Counter[str] = field(default_factory=Counter)
    failure: MalformedError | None = None
    notes: list[str] = field(default_factory=list)

    def leave_out(self, error: MalformedError, trials: int = 1) -> None:
        """Count refused trials, and keep the reason."""
        self.malformed.append(error)
        self.left_out += trials

    def leave_unused(self, reason: str, part: str) -> None:
        """Note that a part of the source holds no run that can be stored, and why."""
        self.unused.setdefault(reason, []).append(part)

    def added(self, units: str = "") -> str:
        """Return the sentence that says what was added, `units` such as "2 shards with "."""
        return (
            f"added {units}{counted(self.trials, 'trial')} and "
            f"{counted(self.measurements, 'measurement')} to {self.release}; "
            f"{counted(self.already_there, 'trial')} already there"
        )


@dataclass
class Addition:
    """A source on its way into a release.

    Attributes:
        report: collects what the source reports beside its studies.
        held: the index of the release.
        on_progress: called with how much of the source has been read, and the total.
    """

    report: Report
    held: Index = field(default_factory=Index)
    on_progress: OnProgress = lambda _done, _total: None


class Source(Protocol):
    """Measurements that can be added to a release."""

    @property
    def about(self) -> About:
        """Return the name of the release and its description."""

    def studies(self, addition: Addition) -> Iterable[NewShard]:
        """Return the shards to add.

        Trials that the release already has with the same `Trial.source`, or of a `StoredShard` with
        equal rows, are dropped. So a source may return all that it has, or look into
        `addition.held` for what it need not read.

        A generator is stored while it is read. A list is checked first: where one of its shards
        clashes with the release, nothing is added.
        """


def add_source(
    source: Source,
    folder: Path,
    *,
    about: About | None = None,
    on_progress: OnProgress = lambda _done, _total: None,
) -> Report:
    """Add a source to a release; what the release already has changes nothing.

    An addition that is stopped at any moment and repeated ends with the rows of one that was not
    stopped.

    Args:
        source: the source to add.
        folder: the release folder, which is created where it does not exist.
        about: description of the release; None: the source's.
        on_progress: called with the number of shards of a list that were stored and of all of
            them, or as the source does.

    Raises:
        UsageError: the folder is a release of another name.
        ClashError: the source disagrees with the release.
        DbtoolError: the release could not be written; shards finished until then are kept.
    """
    about = about or source.about
    report = Report(about.release, folder)
    place = made_folder(folder, "name another one with --db")
    with place, ReleaseWriter(folder, about) as writer:
        known = set(writer.index.studies)
        addition = Addition(report, writer.index, on_progress)
        studies = source.studies(addition)
        new, total = _new(studies, addition, writer), None
        if isinstance(studies, list):
            checked = list(new)
            new, total = (each for each in checked), len(checked)
        with contextlib.closing(new), ThreadPoolExecutor(_WRITERS) as pool:
            for shard in in_order(pool, partial(_store, writer), new, _MOST_WAITING):
                _count(shard, known, addition, total)
                addition.held = writer.index
        writer.describe()
    given, kept = (msgspec.structs.asdict(each) for each in (about, writer.about))
    if other := [name for name in given if given[name] not in {None, kept[name]}]:
        what = f"{joined(other)}, which `dbtool publish` replaces"
        report.notes.append(f"{report.release} keeps its own {what}")
    return report


def _new(
    studies: Iterable[NewShard], addition: Addition, writer: ReleaseWriter
) -> Generator[NewShard]:
    """Yield the shards without the trials that the release already has.

    Raises:
        ClashError: the release has another study in its place, or other contents of a trial.
    """
    with contextlib.ExitStack() as stack:
        if isinstance(studies, Generator):
            stack.callback(studies.close)
        for footer, rows in studies:
            there, producer = addition.held.origins(footer), footer.producer
            if isinstance(rows, StoredShard):
                new = _unlike(footer, rows, there, writer)
            else:
                producer = {"dbtool": __version__, **producer}
                new = [
                    trial
                    for trial in footer.trials
                    if trial.source is None
                    or trial.trial_id not in there
                    or there[trial.trial_id].source != trial.source
                ]
            left = msgspec.structs.replace(footer, trials=tuple(new), producer=producer)
            writer.refuse_clash(left)
            there_already = len(footer.trials) - len(new)
            addition.report.already_there += there_already
            if new:
                ids = [trial.trial_id for trial in new]
                yield left, _of_trials(rows, ids) if there_already else rows


def _unlike(
    footer: Footer, rows: StoredShard, there: Mapping[int, HeldTrial], writer: ReleaseWriter
) -> list[Trial]:
    """Return the trials of another release's shard that the release lacks.

    Raises:
        ClashError: the release has another study in its place, or other contents of a trial.
    """
    remedy = (
        f"`dbtool diff {rows.folder} {writer.folder}` shows all that differs, and `dbtool ingest "
        f"{rows.folder} --release NAME` adds it as a release of another name"
    )
    if reason := writer.index.clash(msgspec.structs.replace(footer, trials=())):
        raise writer.clash(footer, f"{reason}; {remedy}")
    new, opened = [], {}
    for trial in footer.trials:
        if trial.trial_id not in there:
            new.append(trial)
            continue
        path = there[trial.trial_id].shard
        if path not in opened:
            opened[path] = StoredShard(writer.folder, load_shard(writer.folder, path))
        if differing := rows.difference(trial, opened[path]):
            raise writer.clash(
                footer,
                f"its trial {trial.trial_id} differs from the one that is there in {differing}; "
                f"{remedy}",
            )
    return new


def _of_trials(rows: Iterable[pa.Table], trials: list[int]) -> Iterator[pa.Table]:
    # A function of its own, since a generator expression would read a later loop's trials.
    return (table.filter(pc.field("trial_id").isin(trials)) for table in rows)


def _store(writer: ReleaseWriter, new: NewShard) -> Shard:
    footer, rows = new
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
    workload = shard.footer.study.workload
    note = direction_note(workload.metric) if workload.goal is not None else ""
    if note and key not in known and note not in report.notes:
        report.notes.append(note)
    report.shards += 1
    report.studies += key not in known
    known.add(key)
    report.trials += len(shard.footer.trials)
    report.measurements += shard.rows
    if total is not None:
        addition.on_progress(report.shards, total)


def conclude(report: Report, added: str, on_message: OnMessage, more: Iterable[str] = ()) -> Report:
    """Report the outcome of adding a source: what was added, then more sentences.

    Raises:
        DbtoolError: parts of the source were refused, it was not read to its end, or nothing in it
            can be used. The rest is stored.
    """
    failure, is_vain = report.failure, not (report.trials or report.already_there)
    if failure is not None and is_vain:
        raise DbtoolError(str(failure)) from failure
    for sentence in (*(f"left out {error}" for error in report.malformed), added):
        on_message(sentence)
    if report.oddities:
        kept = ", ".join(f"{count:,} {name}" for name, count in report.oddities.most_common())
        on_message(f"kept as they are: {kept}")
    for reason, parts in sorted(report.unused.items(), key=lambda item: -len(item[1])):
        on_message(f"not used: {counted(len(parts), 'part')}, such as {parts[0]}: {reason}")
    if report.unused and is_vain and not report.malformed:
        raise DbtoolError("nothing was added, for the reasons above: name other files")
    for sentence in (*report.notes, *more, where([report])):
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
    """Return the sentence that names the folder of the releases."""
    [folder, *others] = dict.fromkeys(report.folder for report in reports)
    return f"in {folder.parent if others else folder}"
