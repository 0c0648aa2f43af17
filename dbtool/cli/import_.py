"""The command that imports an archive in the published format."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dbtool.cli.options import Database

if TYPE_CHECKING:
    from dbtool.archive.load import ImportProgress
    from dbtool.archive.report import Comparison, ImportReport

# What a person can take in; the counts above tell of the rest.
_MOST_DIFFERENCES = 20


def command(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH",
            help="The archive: a .tar.bz2, .tar.gz or .tar, or the folder it was unpacked into.",
            show_default=False,
        ),
    ],
    *,
    db: Database = None,
    release: Annotated[
        str,
        typer.Option(
            "--release",
            metavar="NAME",
            help="The name under which the rows are stored; only those of `published` are "
            "compared with the published table.",
        ),
    ] = "published",
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Stop at the first malformed file instead of leaving it out."
        ),
    ] = False,
) -> None:
    """Import an archive in the published format into the database.

    The archive is read once and never unpacked to disk. Trials that are already there change
    nothing, so an interrupted import goes on when the same command is given again. A malformed
    trial is named and left out; the rest goes in. Others can read the database meanwhile, and see
    the new rows once all of them are there.

    Example: dbtool import batch_science_data.tar.bz2
    """
    from dbtool.archive.load import import_archive
    from dbtool.cli.database import writing
    from dbtool.errors import DbtoolError, UsageError

    if not release.strip() or not release.isprintable():
        raise UsageError(f"--release {release!r} is no name: give one such as published")
    if not path.exists():
        raise UsageError(f"there is no {path}: get the archive with `dbtool fetch`")
    with writing(db, "dbtool import") as connection, _bar(path) as on_progress:
        report = import_archive(
            connection, path, release=release, strict=strict, on_progress=on_progress
        )
    _print_report(report, release)
    if report.failure is not None:
        raise DbtoolError(
            f"{report.failure}; studies that were whole until then are stored, and the same "
            "command goes on with a sound archive"
        )
    if report.malformed:
        raise DbtoolError(
            f"{len(report.malformed):,} malformed files are listed above and "
            f"{report.left_out:,} trials were left out; mend them and give the same command again"
        )


@contextlib.contextmanager
def _bar(path: Path) -> Iterator[Callable[["ImportProgress"], None] | None]:
    """A bar with the rate and the time left on a terminal; None elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("importing"),
        BarColumn(),
        TextColumn(
            "{task.percentage:3.0f} % · {task.fields[measurements]:,} measurements · "
            "{task.fields[rate]:,.1f} {task.fields[unit]}/s ·"
        ),
        TimeRemainingColumn(compact=True),
    )
    started = time.monotonic()
    unit, size = ("files", 1.0) if path.is_dir() else ("MB", 1e6)
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None, measurements=0, rate=0.0, unit=unit)

        def on_progress(state: "ImportProgress") -> None:
            progress.update(
                task,
                completed=state.done,
                total=state.total,
                measurements=state.measurements,
                rate=state.done / size / max(time.monotonic() - started, 0.001),
            )

        yield on_progress


def _print_report(report: "ImportReport", release: str) -> None:
    """Tells on standard error what became of the archive."""
    from dbtool.cli.messages import counted

    lines = [f"left out {error}" for error in report.malformed]
    lines.append(
        f"added {counted(report.studies, 'study', 'studies')} with "
        f"{counted(report.trials, 'trial')} and "
        f"{counted(report.measurements, 'measurement')} to {release}; "
        f"{counted(report.already_there, 'trial')} already there"
    )
    oddities = report.oddities
    found = {
        "missing values": oddities.missing,
        "nan": oddities.nan,
        "infinite values": oddities.infinite,
        "repeated steps": oddities.repeated,
        "unsorted steps": oddities.unsorted,
        "empty files": oddities.empty,
        "files with a header alone": oddities.header_only,
        "trials without measurements.csv": oddities.no_file,
    }
    if any(found.values()):
        kept = ", ".join(f"{count:,} {name}" for name, count in found.items() if count)
        lines.append(f"kept as they are: {kept}")
    if report.comparison is not None:
        lines += _compared(report.comparison)
    sys.stderr.write("".join(f"{line}\n" for line in lines))


def _compared(comparison: "Comparison") -> Iterator[str]:
    """How the release compares with the published table."""
    yield (
        f"{'studies':<12}{comparison.studies:>10,} of {comparison.studies_expected:,} "
        "of the published table"
    )
    for status, expected in comparison.trials_expected.items():
        yield f"{status:<12}{comparison.trials[status]:>10,} of {expected:,} trials"
    trials = sum(comparison.trials.values())
    yield f"{'all':<12}{trials:>10,} of {sum(comparison.trials_expected.values()):,} trials"
    yield f"{'all':<12}{comparison.measurements:>10,} measurements"
    if comparison.equal:
        yield "nothing differs from the published table"
        return
    if comparison.missing:
        yield _some("the database lacks", comparison.missing)
    if comparison.unknown:
        yield _some("the published table lacks", comparison.unknown)
    differences = comparison.differences
    for differing in differences[:_MOST_DIFFERENCES]:
        yield (
            f"{differing.study} has {differing.found:,} {differing.status} trials, "
            f"and {differing.expected:,} in the published table"
        )
    if len(differences) > _MOST_DIFFERENCES:
        yield f"and {len(differences) - _MOST_DIFFERENCES:,} more counts differ"


def _some(what: str, studies: tuple[str, ...]) -> str:
    """A line with the first few of many studies."""
    shown = ", ".join(studies[:3])
    more = f" and {len(studies) - 3:,} more" if len(studies) > 3 else ""
    return f"{what} {len(studies):,} studies: {shown}{more}"
