"""The archive that Shallue et al. published: what is known of it, its download, and comparison."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from dbtool.core.catalog import published_studies
from dbtool.core.download import Downloader, RetryPolicy
from dbtool.core.errors import UsageError, counted, few_of
from dbtool.core.files import expanded
from dbtool.core.footer import STATUSES
from dbtool.core.http import RemoteFile, check_url
from dbtool.core.manifest import About, is_release

FILE_NAME = "batch_science_data.tar.bz2"
URL = "https://storage.googleapis.com/batch_science_data/batch_science_data.tar.bz2"
SHA256 = "6460ab86a6ab0f22a02e1c9b982e1ca31220bf41f669304ce86f14d19053f435"
# The release states its size in rounded megabytes, which may be 1000 or 1024 kilobytes.
_LEAST_BYTES, _MOST_BYTES = 721_800_000, 882_200_000
_SHA256 = re.compile(r"[0-9a-f]{64}")

RELEASE = "published"
_TITLE = (
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
ABOUT = About(release=RELEASE, title=_TITLE, licence=LICENCE, citation=ARCHIVE_CITATION)
# Few enough to read; the counts above cover the rest.
_MOST_DIFFERENCES = 20
_MOST_STUDIES = 3
_OTHER_URL = "try again later or name another URL with --mirror"


def archive_file(
    url: str | None = None, mirrors: Sequence[str] = (), sha256: str | None = None
) -> RemoteFile:
    """Return the published archive, or another file, as a file to download; see `fetch`."""
    urls = (*([] if url is None else [url]), *mirrors)
    if sha256 is None:
        urls = tuple(map(check_url, urls if url is not None else (URL, *urls)))
        return RemoteFile(FILE_NAME, urls, SHA256, _LEAST_BYTES, _MOST_BYTES, remedy=_OTHER_URL)
    if not _SHA256.fullmatch(sha256.lower()):
        raise UsageError(
            f"{sha256!r} is not a sha256: give 64 hex digits, as `sha256sum FILE` prints them"
        )
    if not urls:
        raise UsageError("--sha256 names another file than the published one: give its --url too")
    name = unquote(urlsplit(check_url(urls[0])).path).rpartition("/")[2]
    is_name = name not in {"", ".", ".."} and name.isprintable()
    urls = tuple(map(check_url, urls))
    return RemoteFile(name if is_name else FILE_NAME, urls, sha256.lower(), remedy=_OTHER_URL)


@dataclass(frozen=True)
class Fetched:
    """A file that exists and is correct.

    Attributes:
        path: the file.
        sha256: hash of its contents.
        was_there: whether it existed before.
    """

    path: Path
    sha256: str
    was_there: bool


def fetch(
    dest: str | os.PathLike[str] = ".",
    *,
    url: str | None = None,
    mirrors: Sequence[str] = (),
    sha256: str | None = None,
    retries: RetryPolicy | None = None,
    on_progress: Callable[[str, int, int | None], None] = lambda _what, _done, _total: None,
) -> Fetched:
    """Download the published archive, or another file with a known sha256, and check it.

    What has arrived is kept in a .part file, so the same call goes on after an interruption.

    Args:
        dest: the file to write, or the folder for it; end the name of a missing folder with a
            slash.
        url: URL to use instead of the published one.
        mirrors: URLs to try after it, in order.
        sha256: hash of another file; None: the published archive's.
        retries: how long to try each URL.
        on_progress: see `Downloader.download`.

    Raises:
        UsageError: a URL, the sha256 or the path is malformed.
        DbtoolError: the file cannot be downloaded or written; what has arrived is kept.

    Example:
        >>> dbtool.fetch("downloads/").path
        PosixPath('downloads/batch_science_data.tar.bz2')
    """
    file = archive_file(url, mirrors, sha256)
    path = expanded(dest)
    if os.fspath(dest).endswith(os.sep) or path.is_dir():
        path /= file.name
    with Downloader(retries, "choose another path with --out") as downloader:
        return Fetched(path, str(file.digest), downloader.download(file, path, on_progress))


def compared(folder: Path) -> Iterator[str]:
    """Yield the sentences that compare a release with the published table."""
    # Fetching, which asks what is known alone, reads no Parquet.
    from dbtool.core.index import STUDIES
    from dbtool.core.release import read_release

    # Without any sound trial, there is no release.
    rows = read_release(folder)[1][STUDIES].to_pylist() if is_release(folder) else []
    columns = (*map(str.lower, STATUSES), "trials")
    found = {
        f"{row['workload']}/{row['batch_size']}": [row[name] for name in columns] for row in rows
    }
    expected = {
        study.path: [getattr(study, name) for name in columns] for study in published_studies()
    }
    there = found.keys() & expected.keys()
    yield f"{'studies':<12}{len(there):>10,} of {len(expected):,} of the published table"
    for at, status in enumerate((*STATUSES, "all")):
        count, wanted = (sum(counts[at] for counts in of.values()) for of in (found, expected))
        yield f"{status:<12}{count:>10,} of {wanted:,} trials"
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
        for status, count, wanted in zip(STATUSES, found[study], expected[study], strict=False)
        if count != wanted
    ]
    yield from differences[:_MOST_DIFFERENCES]
    if len(differences) > _MOST_DIFFERENCES:
        yield f"and {len(differences) - _MOST_DIFFERENCES:,} more counts differ"
    if differences:
        yield f"{RELEASE} is the authors' release: trials of others need another --release"
