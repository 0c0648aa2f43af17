"""What an import did, and how the release that it filled compares with the published table."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from dbtool.core.footer import STATUSES
from dbtool.core.index import STUDIES
from dbtool.sources.archive.table import published_studies

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dbtool.core.index import Index
    from dbtool.sources.archive.members import ArchiveError, UnreadableError

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


@dataclass
class ImportReport:
    """What became of an archive.

    Attributes:
        studies: studies that were added.
        trials: trials that were added.
        measurements: measurements that were added.
        already_there: trials that were passed over, as the release holds them.
        left_out: trials that were left out as malformed, or with their study.
        malformed: what was malformed or hostile.
        oddities: how often there is what is unusual and yet kept as it is, by what it is called.
        failure: why the archive was not read to its end; None where it was.
        comparison: the release against the published table; None for other releases.
    """

    studies: int = 0
    trials: int = 0
    measurements: int = 0
    already_there: int = 0
    left_out: int = 0
    malformed: list[ArchiveError] = field(default_factory=list)
    oddities: Counter[str] = field(default_factory=Counter)
    failure: UnreadableError | None = None
    comparison: Comparison | None = None

    def leave_out(self, error: ArchiveError, trials: int = 1) -> None:
        """Counts trials that are left out, and notes why."""
        self.malformed.append(error)
        self.left_out += trials


def compare(index: Index) -> Comparison:
    """Holds what a release holds against the published table."""
    rows = index.tables()[STUDIES].to_pylist()
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
