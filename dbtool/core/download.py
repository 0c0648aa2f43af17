"""Downloads that resume after any failure; a file gets its name once its digest matches.

Its first bytes lie in NAME.part beside it. A kill at any moment leaves them sound, since bytes are
only appended. Where they turn out to be of another file, all are downloaded again, once.
"""

import contextlib
import functools
import hashlib
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import filelock

from dbtool.core.errors import DbtoolError, UsageError
from dbtool.core.files import made_folder
from dbtool.core.http import (
    NoMoreError,
    Part,
    PermanentError,
    RemoteFile,
    TemporaryError,
    get,
    http_client,
    megabytes,
    part_path,
    without_secrets,
)

if TYPE_CHECKING:
    import httpx

Progress = Callable[[str, int, int | None], None]

# Bytes a second, over the time after which a silent connection is closed. A server that sends fewer
# would keep a command for ever.
_LEAST_RATE = 1_000
DOWNLOADING, CHECKING = "downloading", "checking"


@dataclass(frozen=True)
class RetryPolicy:
    """When to retry a URL that fails, and when to give up.

    Attributes:
        most: retries in a row without new bytes, after the first try.
        timeout: seconds without a byte after which a connection is closed.
        first_wait: seconds before the first retry; each further wait is twice as long.
        longest_wait: longest wait in seconds, whatever the server requests.
        on_retry: called with the reason for a retry and the seconds until it.
    """

    most: int = 5
    timeout: float = 30.0
    first_wait: float = 1.0
    longest_wait: float = 60.0
    on_retry: Callable[[str, float], None] = lambda _reason, _wait: None


class Downloader:
    """A downloader of files that keeps its connections open until `close`; threads may share it.

    Example:
        with Downloader() as downloader:
            downloader.download(RemoteFile("data.bin", (url,), sha256), Path("data.bin"))
    """

    def __init__(
        self, retries: RetryPolicy | None = None, other_path: str = "choose another path"
    ) -> None:
        """Set when to retry each URL, and the remedy in messages about a path."""
        self._retries = retries or RetryPolicy()
        self._other_path = other_path

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        if "_client" in self.__dict__:
            self._client.close()

    def download(
        self,
        file: RemoteFile,
        path: Path,
        on_progress: Progress = lambda _what, _done, _total: None,
        *,
        wait: bool = False,
    ) -> bool:
        """Download a file; return whether it existed before.

        URLs are tried in order; each one resumes from the bytes of the one before.

        Args:
            file: the file to download.
            path: where to write it; missing folders are created.
            on_progress: called with DOWNLOADING or CHECKING, the bytes done and the total bytes,
                which are None where the server does not send a length.
            wait: whether to wait for another process that downloads the same file.

        Raises:
            DbtoolError: no URL has the file, something else is at the path, another process is
                downloading it, or the disk is too small or not writable.
        """
        if self._is_there(file, path, on_progress):
            part_path(path).unlink(missing_ok=True)
            return True
        try:
            with self._locked(path, wait=wait), Part(path, file) as part:
                # Another process may have finished the download meanwhile.
                was_there = self._is_there(file, path, on_progress)
                if was_there:
                    part.clear()
                else:
                    self._bring(part, on_progress)
                    part.finish()
        except OSError as error:
            raise DbtoolError(
                f"cannot write {part_path(path)}: {error.strerror}; what came is kept: make that "
                f"possible and run the same command again to go on, or {self._other_path}"
            ) from error
        return was_there

    def read(self, file: RemoteFile) -> bytes:
        """Return the contents of a small file, or raise a DbtoolError."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "file")
            self.download(file, path)
            return path.read_bytes()

    @functools.cached_property
    def _client(self) -> "httpx.Client":
        return http_client(self._retries.timeout)

    def _is_there(self, file: RemoteFile, path: Path, on_progress: Progress) -> bool:
        """Whether the file exists; another file of the same name is an error and is not touched."""
        if not path.exists():
            return False
        if not path.is_file():
            raise UsageError(f"{path} is not a file: {self._other_path}")
        try:
            found = _file_digest(path, file, on_progress)
        except OSError as error:
            raise DbtoolError(f"cannot read {path}: {error.strerror}") from error
        if found == file.digest:
            return True
        raise DbtoolError(
            f"{path} is there already and is another file ({file.algorithm} {found} in place of "
            f"{file.digest}): move it away or {self._other_path}"
        )

    @contextlib.contextmanager
    def _locked(self, path: Path, *, wait: bool) -> Iterator[None]:
        """Keep other processes from downloading the file while the block runs."""
        lock = path.with_name(f".{path.name}.lock")
        try:
            with (
                made_folder(path.parent, self._other_path),
                filelock.FileLock(lock, timeout=-1 if wait else 0),
            ):
                try:
                    yield
                finally:
                    # A process that waits for the lock notices its removal and makes a new one.
                    lock.unlink(missing_ok=True)
        except filelock.Timeout as error:
            reason = f"another process is downloading {path}: wait for it or"
            # On a file system without write access the time-out looks like a lock in use.
            if not lock.exists():
                reason = f"cannot write {path}: the folder takes no files;"
            raise DbtoolError(f"{reason} {self._other_path}") from error

    def _bring(self, part: Part, on_progress: Progress) -> None:
        """Complete a part from the first URL that has the file."""
        file, failures = part.file, []
        for url in file.urls:
            try:
                self._bring_from(url, part, on_progress)
            except PermanentError as error:
                failures.append(f"{without_secrets(url)}: {error}")
            else:
                return
        kept = f"{megabytes(part.size)} of it are kept, run the same command again to go on"
        raise DbtoolError(
            f"cannot download {file.name.rpartition('/')[2]} from {'; from '.join(failures)}; "
            f"{kept if part.size else file.remedy}"
        )

    def _bring_from(self, url: str, part: Part, on_progress: Progress) -> None:
        file, restarted = part.file, False
        while True:
            size_before = part.size
            self._receive_all(url, part, on_progress)
            found = _file_digest(part.path, file, on_progress)
            if file.digest in {found, None}:
                return
            if part.total is None and part.size > size_before:
                continue  # a server that does not send the length may have closed too early
            # The pieces may be of two files, or the bytes have changed on their way.
            part.clear()
            if restarted:
                raise PermanentError(
                    f"what it sends has the {file.algorithm} {found} in place of {file.digest}"
                )
            restarted = True

    def _receive_all(self, url: str, part: Part, on_progress: Progress) -> None:
        """Receive the missing bytes of a part, retrying as the policy allows.

        Where the server does not send a length, the file counts as complete when the server closes.
        """
        furthest, failures = part.size, 0
        while part.size != part.total:
            try:
                self._receive(url, part, on_progress)
                if part.total in {part.size, None}:
                    return
                error = TemporaryError("the server closes before the end")
            except TemporaryError as caught:
                error = caught
            if part.size > furthest:
                furthest, failures = part.size, 0
            elif failures == self._retries.most:
                often = f" ({failures + 1} tries in a row)" if failures else ""
                raise PermanentError(f"{error}{often}") from error
            else:
                failures += 1
            wait = error.wait or self._retries.first_wait * 2 ** max(failures - 1, 0)
            wait = min(wait, self._retries.longest_wait)
            self._retries.on_retry(str(error), wait)
            time.sleep(wait)

    def _receive(self, url: str, part: Part, on_progress: Progress) -> None:
        """Request the missing bytes of a part once, and write what arrives."""
        try:
            with get(self._client, url, part.size) as reply:
                skip = part.accept(reply)
                on_progress(DOWNLOADING, part.size, part.total)
                for chunk in self._fast_enough(reply.chunks):
                    part.write(chunk[skip:])
                    skip = max(skip - len(chunk), 0)
                    on_progress(DOWNLOADING, part.size, part.total)
        except NoMoreError:
            # Either the file is complete, or its digest will not match.
            part.total = part.size

    def _fast_enough(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield chunks; raise an error where they come too slowly over the time-out."""
        began, came = time.monotonic(), 0
        for chunk in chunks:
            came += len(chunk)
            yield chunk
            seconds = time.monotonic() - began
            if seconds > self._retries.timeout:
                if came < _LEAST_RATE * seconds:
                    # No retry, since each would bring a little.
                    raise PermanentError(f"it sends fewer than {_LEAST_RATE:,} bytes a second")
                began, came = time.monotonic(), 0


def _file_digest(path: Path, remote: RemoteFile, on_progress: Progress) -> str:
    """Return the digest of what has arrived; of a damaged file, why it has none."""
    size = path.stat().st_size
    on_progress(CHECKING, 0, size)
    if remote.digest_of is not None:
        try:
            found = remote.digest_of(path)
        except ValueError as error:
            found = f"of none: {error}"
    else:
        with path.open("rb") as file:
            new = functools.partial(hashlib.new, remote.algorithm, usedforsecurity=False)
            found = hashlib.file_digest(file, new).hexdigest()
    on_progress(CHECKING, size, size)
    return found
