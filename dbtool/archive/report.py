"""What an import did, and how the release that it loaded compares with the published table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbtool.archive.table import published_studies
from dbtool.store.contract import STATUSES
from dbtool.store.sql import statement

if TYPE_CHECKING:
    from collections.abc import Mapping

    import duckdb

    from dbtool.archive.errors import ArchiveError, UnreadableError
    from dbtool.archive.measurements import Oddities


@dataclass(frozen=True)
class Difference:
    """A count that differs from the published table's.

    Attributes:
        study: WORKLOAD/BATCH_SIZE.
        status: of the trials that were counted.
        found: how many the database has.
        expected: how many the table has.
    """

    study: str
    status: str
    found: int
    expected: int


@dataclass(frozen=True)
class Comparison:
    """A release in the database, held against the published table.

    Attributes:
        studies: how many of the table's studies are there.
        studies_expected: how many the table has.
        trials: trials there by status.
        trials_expected: those of the table.
        measurements: measurements there.
        missing: the table's studies that are not there.
        unknown: studies that are there and not in the table.
        differences: the counts that differ, of studies that are in both.
    """

    studies: int
    studies_expected: int
    trials: Mapping[str, int]
    trials_expected: Mapping[str, int]
    measurements: int
    missing: tuple[str, ...]
    unknown: tuple[str, ...]
    differences: tuple[Difference, ...]

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        return not (self.missing or self.unknown or self.differences)


@dataclass(frozen=True)
class ImportReport:
    """What became of an archive.

    Attributes:
        studies: studies that were added.
        trials: trials that were added.
        measurements: measurements that were added.
        already_there: trials that were passed over, as the database holds them.
        left_out: trials that were left out as malformed, or with their study.
        malformed: what was malformed or hostile.
        oddities: what is unusual about the trials that were added.
        failure: why the archive was not read to its end; None where it was.
        comparison: the release against the published table; None for other releases.
    """

    studies: int
    trials: int
    measurements: int
    already_there: int
    left_out: int
    malformed: tuple[ArchiveError, ...]
    oddities: Oddities
    failure: UnreadableError | None
    comparison: Comparison | None


def compare(connection: duckdb.DuckDBPyConnection, release: str) -> Comparison:
    """Holds a release in the database against the published table."""
    rows = connection.execute(statement("count_studies"), {"release": release}).fetchall()
    found = {study: dict(zip(STATUSES, counts, strict=True)) for study, *counts, _ in rows}
    expected = {
        study.path: dict(
            zip(STATUSES, (study.complete, study.incomplete, study.infeasible), strict=True)
        )
        for study in published_studies()
    }
    differences = [
        Difference(study, status, found[study][status], counts[status])
        for study, counts in expected.items()
        if study in found
        for status in STATUSES
        if found[study][status] != counts[status]
    ]
    return Comparison(
        studies=len(found.keys() & expected.keys()),
        studies_expected=len(expected),
        trials=_totals(found),
        trials_expected=_totals(expected),
        measurements=sum(measurements for *_, measurements in rows),
        missing=tuple(sorted(expected.keys() - found.keys())),
        unknown=tuple(sorted(found.keys() - expected.keys())),
        differences=tuple(differences),
    )


def _totals(counts: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    return {status: sum(of[status] for of in counts.values()) for status in STATUSES}
