"""Fetches the archives of public sources, and imports them into releases of the user's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dbtool.core.download import Downloader
from dbtool.core.errors import UsageError
from dbtool.core.files import expanded, make_folder
from dbtool.core.http import RemoteFile, as_url, check_url
from dbtool.core.release import telling_of_change
from dbtool.sources.base import add_source, conclude
from dbtool.sources.public.catalog import SourcePart, parts_of, public_source
from dbtool.sources.public.git_tree import tree_id
from dbtool.store.locations import folder_to_write

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from dbtool.core.download import RetryPolicy
    from dbtool.sources.base import OnMessage, OnProgress, Report


def fetch_source(
    name: str,
    dest: str | os.PathLike[str] = ".",
    *,
    mirrors: Sequence[str | os.PathLike[str]] = (),
    retries: RetryPolicy | None = None,
    on_progress: Callable[[str, int, int | None], None] = lambda _what, _done, _total: None,
) -> list[Path]:
    """Download the archives of a public source, and check them by git's id of their files.

    What has arrived is kept, so the same call goes on after an interruption where the host can.

    Args:
        name: a source such as mlperf, or a part of one such as mlperf-v5.1.
        dest: the folder for the archives.
        mirrors: URLs to use in place of the host, which serve OWNER/NAME/archive/COMMIT.tar.gz as
            it does, or folders that have the archives under the names that this function gives.
        retries: how long to try each archive.
        on_progress: see `dbtool.core.download.Downloader.download`.

    Returns:
        The archives.

    Raises:
        UsageError: there is no such source.
        DbtoolError: an archive cannot be downloaded, is another one or cannot be written.

    Example:
        >>> dbtool.fetch_source("mlperf-reference", "downloads")
        [PosixPath('downloads/logging-7bbf79268693.tar.gz')]
    """
    folder, fetched = expanded(dest), []
    with Downloader(
        retries,
        other_path="choose another folder with --out",
        other_source="try again later or name a mirror with --mirror",
    ) as downloader:
        for part in parts_of(name):
            path = folder / part.file_name
            downloader.download(_remote_file(part, mirrors), path, on_progress)
            fetched.append(path)
    return fetched


def _remote_file(part: SourcePart, mirrors: Sequence[str | os.PathLike[str]]) -> RemoteFile:
    urls = []
    for mirror in mirrors:
        if url := as_url(mirror):
            urls.append(part.url(url))
        else:
            urls.append((expanded(mirror).absolute() / part.file_name).as_uri())
    urls = urls or [part.url()]
    return RemoteFile(
        part.file_name,
        tuple(map(check_url, urls)),
        part.tree,
        algorithm="git tree",
        digest_of=tree_id,
    )


def import_source(
    name: str,
    *paths: str | os.PathLike[str],
    into: str | os.PathLike[str] | None = None,
    on_progress: OnProgress = lambda _done, _total: None,
    on_message: OnMessage = lambda _sentence: None,
) -> Report:
    """Import a public source into a release of yours that has its name.

    Runs that the release already has change nothing.

    Args:
        name: a source such as mlperf, or a part of one such as mlperf-v5.1.
        paths: archives, or folders of archives or of their files; none: the archives in the current
            folder, where `fetch_source` puts them.
        into: folder of the database; None: the default one.
        on_progress: called with the number of bytes read, and of all.
        on_message: called with what is to be said.

    Raises:
        UsageError: there is no such source or path.
        DbtoolError: an archive is damaged, or the release could not be written.
    """
    given = [expanded(path) for path in paths]
    if not given:
        given = [Path(part.file_name) for part in parts_of(name)]
        if missing := [path for path in given if not path.exists()]:
            raise UsageError(f"there is no {missing[0]} here: get it with `dbtool fetch {name}`")
    source = public_source(name, *given)
    folder = folder_to_write(into, source.about.release)
    make_folder(folder, "name another one with --db")
    with telling_of_change(folder, on_message):
        report = add_source(source, folder, on_progress=on_progress)
        return conclude(report, report.added(), on_message)
