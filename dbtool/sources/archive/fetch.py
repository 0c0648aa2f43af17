"""Download of the published archive, or of another file with a known sha256."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from dbtool.core.download import Downloader
from dbtool.core.errors import UsageError
from dbtool.core.files import expanded
from dbtool.core.http import RemoteFile, check_url
from dbtool.sources.archive.published import ABOUT_BYTES, FILE_NAME, SHA256, URL

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from dbtool.core.download import RetryPolicy

_SHA256 = re.compile(r"[0-9a-f]{64}")
# How far a rounded size may be from the file's: a megabyte may mean 1000 or 1024 kilobytes.
_ROUNDING = 0.1


def archive_file(
    url: str | None = None, mirrors: Sequence[str] = (), sha256: str | None = None
) -> RemoteFile:
    """Return the published archive, or another file, as a file to download.

    Args:
        url: URL to use instead of the published one.
        mirrors: URLs to try after it, in order.
        sha256: hash of another file; None: the published archive's.

    Raises:
        UsageError: a URL or the sha256 is malformed, or a sha256 comes without a URL.
    """
    urls = (*([] if url is None else [url]), *mirrors)
    if sha256 is None:
        urls = tuple(map(check_url, urls if url is not None else (URL, *urls)))
        least, most = (round((1 + sign * _ROUNDING) * ABOUT_BYTES) for sign in (-1, 1))
        return RemoteFile(FILE_NAME, urls, SHA256, least, most)
    if not _SHA256.fullmatch(sha256.lower()):
        raise UsageError(
            f"{sha256!r} is not a sha256: give 64 hex digits, as `sha256sum FILE` prints them"
        )
    if not urls:
        raise UsageError("--sha256 names another file than the published one: give its --url too")
    name = unquote(urlsplit(check_url(urls[0])).path).rpartition("/")[2]
    is_name = name not in {"", ".", ".."} and name.isprintable()
    return RemoteFile(name if is_name else FILE_NAME, tuple(map(check_url, urls)), sha256.lower())


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
    with Downloader(
        retries,
        other_path="choose another path with --dest",
        other_source="try again later or name another URL with --mirror",
    ) as downloader:
        return Fetched(path, str(file.digest), downloader.download(file, path, on_progress))
