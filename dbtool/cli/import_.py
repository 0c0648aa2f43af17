"""The command that imports an archive in the published format."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dbtool.cli.bars import bar
from dbtool.cli.messages import few_of, tell, tell_where, telling_unpublished
from dbtool.cli.options import Destination
from dbtool.core.errors import DbtoolError, UsageError, counted
from dbtool.core.manifest import check_name
from dbtool.store.sources import as_url, folder_to_write

if TYPE_CHECKING:
    from dbtool.sources.archive.report import Comparison, ImportReport

# What a person can take in; the counts above tell of the rest.
_MOST_DIFFERENCES = 20
_MOST_STUDIES = 3


def command(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH",
            help="The archive: a .tar.bz2, .tar.gz or .tar, or the folder it was unpacked into.",
        ),
    ],
    *,
    db: Destination = None,
    release: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="The name under which the rows are stored; only those of `published` are "
            "compared with the published table.",
        ),
    ] = "published",
) -> None:
    """Import an archive in the published format into a release of yours.

    The archive is read once and never unpacked to disk. Trials that are already there change
    nothing, so an interrupted import goes on when the same command is given again. A malformed
    trial is named and left out; the rest goes in. Studies that are stored can be asked meanwhile.

    Example: dbtool import batch_science_data.tar.bz2
    """
    from dbtool.sources.archive.import_ import import_archive

    check_name(release)
    if url := as_url(path):
        raise UsageError(f"{url} is a URL: download it first with `dbtool fetch --url {url}`")
    into = folder_to_write(db, release)
    with (
        telling_unpublished(into),
        bar("importing", "files" if path.is_dir() else "bytes") as on_progress,
    ):
        report = import_archive(into, path, release=release, on_progress=on_progress)
    if report.failure is not None and not (report.trials or report.already_there):
        raise DbtoolError(str(report.failure)) from report.failure
    _print_report(report, release)
    tell_where([into])
    if report.failure is not None:
        raise DbtoolError(
            f"{report.failure}; studies that were whole until then are stored, and the same "
            "command goes on with a sound archive"
        )
    if report.malformed:
        raise DbtoolError(
            f"{counted(len(report.malformed), 'malformed file')} and "
            f"{counted(report.left_out, 'trial')} were left out, as listed above; mend them and "
            "give the same command again"
        )


def _print_report(report: "ImportReport", release: str) -> None:
    for error in report.malformed:
        tell(f"left out {error}")
    tell(
        f"added {counted(report.studies, 'study', 'studies')} with "
        f"{counted(report.trials, 'trial')} and "
        f"{counted(report.measurements, 'measurement')} to {release}; "
        f"{counted(report.already_there, 'trial')} already there"
    )
    if report.oddities:
        kept = ", ".join(f"{count:,} {name}" for name, count in report.oddities.most_common())
        tell(f"kept as they are: {kept}")
    if report.comparison is not None:
        for line in _compared(report.comparison):
            tell(line)


def _compared(comparison: "Comparison") -> Iterator[str]:
    from dbtool.sources.archive.report import totals

    found, expected = totals(comparison.found), totals(comparison.expected)
    there = len(comparison.expected) - len(comparison.missing)
    yield f"{'studies':<12}{there:>10,} of {len(comparison.expected):,} of the published table"
    for status, count in expected.items():
        yield f"{status:<12}{found[status]:>10,} of {count:,} trials"
    yield f"{'all':<12}{sum(found.values()):>10,} of {sum(expected.values()):,} trials"
    yield f"{'all':<12}{comparison.measurements:>10,} measurements"
    if comparison.found == comparison.expected:
        yield "nothing differs from the published table"
        return
    for lacking, studies in (
        ("the database", comparison.missing),
        ("the published table", comparison.unknown),
    ):
        if studies:
            number = counted(len(studies), "study", "studies")
            yield f"{lacking} lacks {number}: {few_of(studies, _MOST_STUDIES)}"
    differences = comparison.differences
    for study, status in differences[:_MOST_DIFFERENCES]:
        yield (
            f"{study} has {counted(comparison.found[study][status], f'{status} trial')}, "
            f"and {comparison.expected[study][status]:,} in the published table"
        )
    if len(differences) > _MOST_DIFFERENCES:
        yield f"and {len(differences) - _MOST_DIFFERENCES:,} more counts differ"
