"""Imports an archive in the published format, with the checks and sentences of the command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dbtool.core.errors import UsageError, counted
from dbtool.core.files import make_folder
from dbtool.core.manifest import check_name
from dbtool.sources.archive.comparison import compare, compared
from dbtool.sources.archive.published import RELEASE
from dbtool.sources.archive.source import ArchiveSource
from dbtool.sources.base import add_source, conclude
from dbtool.store.sources import as_url, folder_to_write

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from dbtool.sources.base import OnMessage, OnProgress, Report


def import_archive(
    path: str | os.PathLike[str],
    into: str | os.PathLike[str] | None = None,
    *,
    release: str = "published",
    on_progress: OnProgress = lambda _done, _total: None,
    on_message: OnMessage = lambda _sentence: None,
) -> Report:
    """Import an archive in the published format into a release of yours.

    Trials that are there already change nothing, so that an interrupted import goes on.

    Example:
        dbtool.import_archive("batch_science_data.tar.bz2", on_message=print).trials

    Args:
        path: a .tar.bz2, .tar.gz or .tar, or the folder that one was unpacked into.
        into: as of `ingest`.
        release: the name under which the rows are stored.
        on_progress: called with the bytes of the archive, or the files of the folder, that were
            read, and with all of them.
        on_message: called with each sentence that `dbtool import` prints, such as `print`.

    Raises:
        UsageError: there is no such path, or it holds no study.
        DbtoolError: trials are malformed, or the archive cannot be read to its end; the rest is
            stored, and `on_message` tells why. Or the release cannot be written.
    """
    check_name(release)
    if url := as_url(path):
        raise UsageError(f"{url} is a URL: download it first with `dbtool fetch --url {url}`")
    folder = folder_to_write(into, release)
    source = ArchiveSource(Path(path), release)
    make_folder(folder, "name another one with --db")
    report = add_source(source, folder, on_progress=on_progress, on_message=on_message)
    added = report.added(f"{counted(report.studies, 'study', 'studies')} with ")
    return conclude(report, added, on_message, _comparison(report))


def _comparison(report: Report) -> Iterator[str]:
    """The sentences that compare the published release with the published table."""
    if report.release == RELEASE:
        yield from compared(compare(report.folder))
