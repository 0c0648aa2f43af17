"""Shards of releases on servers, fetched as a whole once a query needs them.

DuckDB opens shards through a file system defined here. When a shard is first opened, it is fetched
into the user's cache, where its name is its sha256. It is not read before its hash was compared.
Since shards lie in folders by workload and batch size, a query opens only those it needs.
"""

import contextlib
import datetime as dt
import math
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote, urlsplit

import platformdirs
from fsspec.spec import AbstractFileSystem

from dbtool.core.download import Downloader, RetryPolicy
from dbtool.core.errors import DbtoolError, UsageError
from dbtool.core.files import sha256_of
from dbtool.core.footer import FooterError
from dbtool.core.http import RemoteFile, check_url, without_secrets
from dbtool.core.index import TABLES
from dbtool.core.manifest import MANIFEST, Manifest, ReleaseFile, parse_manifest
from dbtool.core.release import parse_index
from dbtool.core.shards import read_footer
from dbtool.store.relations import OpenRelease
from dbtool.store.shard_files import listed_shard

PROTOCOL = "release"
# Much longer than any manifest, and than any table of an index.
_LONGEST_MANIFEST = 64 << 20
_LONGEST_INDEX = 1 << 30
# A file named by its hash never changes; DuckDB compares this time before it uses its own cache.
_NEVER = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
_RETRIES = RetryPolicy(most=3, first_wait=0.25)
_MEGABYTE = 1_000_000
_TELL_HOST = "run the same command again later, or tell whoever hosts the release"
_CHECK_URL = (
    "check that the URL is a release folder's and that the server answers, then run the same "
    "command again"
)
_OTHER_CACHE = "name another cache with XDG_CACHE_HOME"


def release_url(text: str) -> str:
    """Return the URL of a release folder with a final slash, also from the URL of its manifest.

    Another text is a UsageError.
    """
    if not text.startswith(("http:", "https:")):
        raise UsageError(f"{text!r} is not an http:// or https:// URL of a release folder")
    parts = urlsplit(check_url(text))
    if parts.query or parts.fragment:
        raise UsageError(f"{text!r} has a part behind its path: give the URL of a release folder")
    return text.removesuffix(MANIFEST).rstrip("/") + "/"


def cache_folder() -> Path:
    """Return the user's cache of shards from servers, which may be removed at any time."""
    return platformdirs.user_cache_path("dbtool") / "shards"


def remote_file(url: str, file: ReleaseFile) -> RemoteFile:
    """Return a file of a release on a server; its path may have percent signs of its own."""
    urls = (url + quote(file.path),)
    return RemoteFile(file.path, urls, file.sha256, file.bytes, file.bytes, remedy=_TELL_HOST)


def read_remote_manifest(downloader: Downloader, url: str) -> tuple[Manifest, bytes]:
    """Return the manifest of a release on a server, and its text, or raise a DbtoolError."""
    urls = (url + MANIFEST,)
    file = RemoteFile(MANIFEST, urls, None, most_bytes=_LONGEST_MANIFEST, remedy=_CHECK_URL)
    text = downloader.read(file)
    return parse_manifest(text, without_secrets(url + MANIFEST)), text


class RemoteFiles(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """The shards of a release on a server, as a file system for DuckDB; threads may share it.

    It has no other file of any machine.
    """

    protocol = PROTOCOL
    cachable = False

    def __init__(self, url: str, fetch_up_to: int) -> None:
        """Take a URL from `release_url`, and how much queries at the same time may fetch."""
        super().__init__()
        self._url, self._shown = url, without_secrets(url)
        self._fetch_up_to = fetch_up_to
        self._downloader = Downloader(_RETRIES, _OTHER_CACHE)
        self._cache = cache_folder()
        self._shards: dict[str, ReleaseFile] = {}
        self._sound: set[ReleaseFile] = set()
        self._lock = threading.Lock()
        # Opening a release fetches only its smallest shard.
        self._queries, self._fetched, self._allowed = 0, 0, sys.maxsize

    def close(self) -> None:
        """Close the connections to the server."""
        self._downloader.close()

    def release(self) -> OpenRelease:
        """Open the release, or raise a DbtoolError where it is not sound."""
        manifest, _ = read_remote_manifest(self._downloader, self._url)
        contents = {name: self._content(manifest, name) for name in TABLES}
        tables = parse_index(contents, manifest, self._shown)
        # Every query opens the first shard, for its columns.
        for shard in sorted(manifest.shards, key=lambda file: file.bytes):
            # DuckDB takes stars and brackets in a name for a pattern.
            path = quote(shard.path, safe="/=%")
            self._shards[f"{quote(self._shown, safe='')}/{path}"] = shard
        return OpenRelease(manifest, tables, [f"{PROTOCOL}://{name}" for name in self._shards])

    @contextlib.contextmanager
    def query(self) -> Iterator[None]:
        """Let the query of the block fetch shards, up to the limit."""
        with self._lock:
            # DuckDB does not tell which query opens a shard.
            if not self._queries:
                self._fetched = 0
            self._allowed = self._fetch_up_to
            self._queries += 1
        try:
            yield
        finally:
            with self._lock:
                self._queries -= 1

    def open(self, path: str, mode: str = "rb", **_: Any) -> "_OpenShard":
        """Open a shard to read as `sound_file` does."""
        if mode != "rb":
            raise PermissionError(f"{path} can only be read")
        opened = _OpenShard(self, self._shards[self._strip_protocol(path)])
        opened.read(0)
        return opened

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Return what is known of a shard, without fetching it."""
        shard = self._shards.get(self._strip_protocol(path))
        if shard is None:
            raise FileNotFoundError(path)
        return {"name": path, "type": "file", "size": shard.bytes}

    def glob(self, path: str, **_: Any) -> list[str]:
        """Return the shard of exactly that name; patterns have no meaning here."""
        return [path] if self.isfile(path) else []

    def modified(self, path: str) -> dt.datetime:  # noqa: ARG002 (one answer for all)
        """Return the time of the last change, the same for all shards."""
        return _NEVER

    def _content(self, manifest: Manifest, name: str) -> bytes:
        file = manifest.file(name)
        if file is None or file.bytes > _LONGEST_INDEX:
            raise DbtoolError(
                f"the release {self._shown} lists no {name} of the size of an index: tell "
                "whoever hosts it"
            )
        with self.sound_file(file) as opened:
            return opened.read()

    def sound_file(self, file: ReleaseFile) -> BinaryIO:
        """Open a file in the cache whose contents are those in the manifest.

        Raises:
            DbtoolError: the file is not available, or the query would fetch more than its limit.
        """
        path = self._cache / f"{file.sha256}.parquet"
        try:
            # First the cached file, then one that is fetched again.
            for _ in range(2):
                if not path.exists():
                    self._fetch(file, path)
                if file not in self._sound and sha256_of(path) == file.sha256:
                    self._require_listed(file, path)
                    self._sound.add(file)
                if file in self._sound:
                    return path.open("rb", buffering=0)
                path.unlink(missing_ok=True)
        except OSError as error:
            raise DbtoolError(f"{path} cannot be read: {error.strerror}") from error
        raise DbtoolError(f"{path} is damaged as soon as it is written: {_OTHER_CACHE}")

    def _fetch(self, file: ReleaseFile, path: Path) -> None:
        if file.path not in TABLES:
            with self._lock:
                if self._fetched + file.bytes > self._allowed:
                    raise self._too_much(file)
                self._fetched += file.bytes
        self._downloader.download(remote_file(self._url, file), path, wait=True)

    def _require_listed(self, file: ReleaseFile, path: Path) -> None:
        """Raise an error for a shard with the right hash that is not what its manifest lists."""
        try:
            if file.path not in TABLES:
                listed_shard(file, read_footer(path))
        except FooterError as error:
            raise DbtoolError(
                f"{self._shown}{file.path} is damaged: {error}; tell whoever hosts the release"
            ) from error

    def _too_much(self, file: ReleaseFile) -> DbtoolError:
        least = self._fetched + file.bytes
        most = self._fetched + sum(
            shard.bytes
            for shard in self._shards.values()
            if not (self._cache / f"{shard.sha256}.parquet").exists()
        )
        return DbtoolError(
            f"the query needs {_megabytes(least)} or more, up to {_megabytes(most)}, of "
            f"{self._shown} and may fetch {_megabytes(self._allowed)}: allow it with "
            f"--fetch-up-to {-(-most // _MEGABYTE)}, name fewer workloads or batch sizes, or take "
            f"the release with `dbtool pull {self._shown}`"
        )


def _megabytes(count: int) -> str:
    """Return so many bytes in megabytes, rounded up: what is needed is never 0.0."""
    return f"{math.ceil(10 * count / _MEGABYTE) / 10:,.1f} MB"


class _OpenShard:
    """A shard that DuckDB has opened; threads share it, each at its own position.

    Each read opens the cached file anew, since DuckDB drops opened files without closing them.
    """

    def __init__(self, files: RemoteFiles, shard: ReleaseFile) -> None:
        self._files = files
        self._shard = shard
        self._of_thread = threading.local()

    def seek(self, position: int, whence: int = 0) -> int:
        """Move to a byte, counted from the start, the current position or the end."""
        self._of_thread.position = (0, self.tell(), self._shard.bytes)[whence] + position
        return self.tell()

    def tell(self) -> int:
        """Return the position of the next byte."""
        return int(getattr(self._of_thread, "position", 0))

    def read(self, length: int = -1) -> bytes:
        """Return the next bytes."""
        position = self.tell()
        length = self._shard.bytes if length < 0 else length
        with self._files.sound_file(self._shard) as file:
            found = os.pread(file.fileno(), length, position)
        self._of_thread.position = position + len(found)
        return found

    def close(self) -> None:
        """Do nothing, since no file stays open."""
