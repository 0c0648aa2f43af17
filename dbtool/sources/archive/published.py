"""The archive that Shallue et al. published: what is known of it, and comparison with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbtool.core.catalog import published_studies
from dbtool.core.errors import counted, few_of
from dbtool.core.footer import STATUSES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE_NAME = "batch_science_data.tar.bz2"
URL = "https://storage.googleapis.com/batch_science_data/batch_science_data.tar.bz2"
SHA256 = "6460ab86a6ab0f22a02e1c9b982e1ca31220bf41f669304ce86f14d19053f435"
# The release states its size only in rounded megabytes; the hash decides.
ABOUT_BYTES = 802_000_000

RELEASE = "published"
ARCHIVE_TITLE = (
    "Measuring the Effects of Data Parallelism on Neural Network Training: the raw measurements"
)
LICENCE = (
    "The authors' repository says: \"All datasets in this repository are released under the CC BY "
    '4.0 International license". The archive lies in a bucket that this repository documents; '
    "whether that sentence covers it is for you to judge."
)
ARCHIVE_CITATION = """\
@article{shallue2019measuring,
  title = {Measuring the Effects of Data Parallelism on Neural Network Training},
  author = {Shallue, Christopher J. and Lee, Jaehoon and Antognini, Joseph and
            Sohl-Dickstein, Jascha and Frostig, Roy and Dahl, George E.},
  journal = {Journal of Machine Learning Research},
  volume = {20},
  number = {112},
  pages = {1--49},
  year = {2019},
  url = {https://www.jmlr.org/papers/v20/18-789.html},
}
"""
# Few enough to read; the counts above cover the rest.
_MOST_DIFFERENCES = 20
_MOST_STUDIES = 3


def compared(folder: Path) -> Iterator[str]:
    """Yield the sentences that compare a release with the published table."""
    # Fetching, which asks what is known alone, reads no Parquet.
    from dbtool.core.index import STUDIES
    from dbtool.core.manifest import is_release
    from dbtool.core.release import read_release

    # Without any sound trial, there is no release.
    rows = read_release(folder)[1][STUDIES].to_pylist() if is_release(folder) else []
    found = {
        f"{row['workload']}/{row['batch_size']}": [row[status.lower()] for status in STATUSES]
        for row in rows
    }
    expected = {
        study.path: [getattr(study, status.lower()) for status in STATUSES]
        for study in published_studies()
    }
    there = found.keys() & expected.keys()
    yield f"{'studies':<12}{len(there):>10,} of {len(expected):,} of the published table"
    for at, status in enumerate(STATUSES):
        count, wanted = (sum(counts[at] for counts in of.values()) for of in (found, expected))
        yield f"{status:<12}{count:>10,} of {wanted:,} trials"
    count, wanted = (sum(map(sum, of.values())) for of in (found, expected))
    yield f"{'all':<12}{count:>10,} of {wanted:,} trials"
    yield f"{'all':<12}{sum(row['measurements'] for row in rows):>10,} measurements"
    if found == expected:
        yield "nothing differs from the published table"
        return
    for lacking, studies in (
        ("the database", expected.keys() - there),
        ("the published table", found.keys() - there),
    ):
        if studies:
            number = counted(len(studies), "study", "studies")
            yield f"{lacking} lacks {number}: {few_of(sorted(studies), _MOST_STUDIES)}"
    differences = [
        f"{study} has {counted(count, f'{status} trial')}, and {wanted:,} in the published table"
        for study in expected
        if study in there
        for status, count, wanted in zip(STATUSES, found[study], expected[study], strict=True)
        if count != wanted
    ]
    yield from differences[:_MOST_DIFFERENCES]
    if len(differences) > _MOST_DIFFERENCES:
        yield f"and {len(differences) - _MOST_DIFFERENCES:,} more counts differ"
