"""How a release that holds the archive of 2018 compares with the published table of studies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from dbtool.core.errors import counted, few_of
from dbtool.core.footer import STATUSES
from dbtool.core.index import STUDIES
from dbtool.core.release import read_release
from dbtool.sources.archive.table import published_studies

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

# What a person can take in; the counts above tell of the rest.
_MOST_DIFFERENCES = 20
_MOST_STUDIES = 3
Counts: TypeAlias = "Mapping[str, Mapping[str, int]]"
"""Trials by study (WORKLOAD/BATCH_SIZE) and status."""


@dataclass(frozen=True)
class Comparison:
    """A release, held against the published table.

    Attributes:
        found: of each of the release's studies the trials by status.
        expected: the same of the table.
        measurements: those of the release.
    """

    found: Counts
    expected: Counts
    measurements: int

    @property
    def missing(self) -> list[str]:
        """The table's studies that are not there."""
        return sorted(self.expected.keys() - self.found.keys())

    @property
    def unknown(self) -> list[str]:
        """Studies that are there and not in the table."""
        return sorted(self.found.keys() - self.expected.keys())

    @property
    def differences(self) -> list[tuple[str, str]]:
        """Study and status of the counts that differ, of studies that are in both."""
        return [
            (study, status)
            for study, counts in self.expected.items()
            for status, count in counts.items()
            if study in self.found and self.found[study][status] != count
        ]


def compare(folder: Path) -> Comparison:
    """Hold a release against the published table."""
    rows = read_release(folder)[1][STUDIES].to_pylist()
    return Comparison(
        {
            f"{row['workload']}/{row['batch_size']}": {
                status: row[status.lower()] for status in STATUSES
            }
            for row in rows
        },
        {
            study.path: {status: getattr(study, status.lower()) for status in STATUSES}
            for study in published_studies()
        },
        sum(row["measurements"] for row in rows),
    )


def totals(counts: Counts) -> dict[str, int]:
    """The trials of all studies by status."""
    return {status: sum(of[status] for of in counts.values()) for status in STATUSES}


def compared(comparison: Comparison) -> Iterator[str]:
    """The sentences of a comparison."""
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
