"""URLs of files, the replies of servers to requests that start at some byte, and what came."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import shutil
import sys
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import unquote_to_bytes, urlsplit, urlunsplit

from dbtool import __version__
from dbtool.core.errors import DbtoolError, UsageError
from dbtool.core.files import move, open_file, url_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import httpx

_CHUNK_BYTES = 1 << 18
# How many time-outs the headers of an answer may take: to connect, to redirect and to begin.
_HEADERS = 3
_RANGE = re.compile(r"bytes ([0-9]{1,18})-[0-9]{1,18}/([0-9]{1,18}|\*)")
# A number of bytes or seconds; longer ones are not plausible.
_NUMBER = re.compile(r"[0-9]{1,18}")
# Replies worth a retry: time-outs, too many requests, a server in trouble.
_TEMPORARY = {408, 421, 425, 429, 500, 502, 503, 504}


class TemporaryError(Exception):
    """A failure that a retry may get past; `wait` is the seconds until then that a server names."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


class PermanentError(Exception):
    """A URL that does not have the file."""


class NoMoreError(Exception):
    """A request for bytes beyond the end of the file."""


@dataclass(frozen=True)
class RemoteFile:
    """A file on servers.

    Attributes:
        name: its name in messages.
        urls: its URLs in the order to try them, from `check_url`.
        digest: digest of the file, in lowercase hexadecimal; None where it is not known.
        least_bytes: smallest valid size; a smaller file is rejected before its bytes arrive.
        most_bytes: largest valid size, likewise.
        algorithm: the digest's name: an algorithm of hashlib, or what `digest_of` computes.
        digest_of: computes the digest of a path in place of hashlib; raises ValueError where the
            file is damaged.
        remedy: what to do where no URL has it.
    """

    name: str
    urls: tuple[str, ...]
    digest: str | None
    least_bytes: int = 0
    most_bytes: int = sys.maxsize
    algorithm: str = "sha256"
    digest_of: Callable[[Path], str] | None = None
    remedy: str = "try again later"


@dataclass(frozen=True)
class Reply:
    """The bytes of a file as they arrive, from a start on; a total is None where it is not sent."""

    start: int
    total: int | None
    chunks: Iterator[bytes]


class Part:
    """The first bytes of a file, without a gap, as an unfinished download leaves them at a path.

    `total` is the size of the server's file; None where that is not known.
    """

    def __init__(self, target: Path, file: RemoteFile) -> None:
        """Open the bytes of earlier tries to download a file to a path."""
        self.file = file
        self.path = part_path(target)
        self._target = target
        # These flags leave a pipe or a link of that name untouched.
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
        self._handle = os.open(self.path, flags, 0o666)
        self.size = os.fstat(self._handle).st_size
        self.total: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)
        if not self.size:
            self.path.unlink(missing_ok=True)

    def clear(self) -> None:
        """Delete all bytes."""
        os.ftruncate(self._handle, 0)
        self.size, self.total = 0, None

    def accept(self, reply: Reply) -> int:
        """Prepare for a reply; return how many of its bytes are present already."""
        file, total = self.file, reply.total
        if total is not None and not file.least_bytes <= total <= file.most_bytes:
            about = f"{file.least_bytes:,} to " if file.least_bytes < file.most_bytes else ""
            raise PermanentError(f"it has {total:,} bytes in place of {about}{file.most_bytes:,}")
        missing = (total or file.least_bytes) - self.size
        free = shutil.disk_usage(self.path.parent).free
        if missing > free:
            reason = f"{megabytes(missing)} are missing and {megabytes(free)} are free"
            raise OSError(errno.ENOSPC, reason)
        if total is not None and total < self.size:
            self.clear()
            if reply.start:
                raise TemporaryError("the file has changed")
        self.total = total
        return self.size - reply.start

    def write(self, chunk: bytes) -> None:
        """Append bytes up to the end of the file."""
        rest = memoryview(chunk if self.total is None else chunk[: self.total - self.size])
        while rest:
            written = os.write(self._handle, rest)
            self.size += written
            rest = rest[written:]
        if self.size > self.file.most_bytes:
            self.clear()
            raise PermanentError(f"it has more than {self.file.most_bytes:,} bytes")

    def finish(self) -> None:
        """Rename the bytes to the file's name once they are on the disk."""
        os.fsync(self._handle)
        move(self.path, self._target)


def part_path(target: Path) -> Path:
    """Return the path of the bytes of an unfinished download."""
    return target.with_name(f"{target.name}.part")


def megabytes(count: int) -> str:
    """Return a number of bytes in MB, for messages."""
    return f"{count / 1e6:,.1f} MB" if count >= 1e5 else f"{count:,} bytes"


def as_url(given: str | os.PathLike[str]) -> str | None:
    """Return the URL of http or https that a location is; None where it is something else."""
    url = url_of(given)
    return url if url is not None and url.startswith(("http:", "https:")) else None


def check_url(text: str) -> str:
    """Return an http, https or file URL that files can be fetched from, or raise a UsageError."""
    try:
        parts = urlsplit(text)
        port = parts.port
        # The form that name servers get; raises on labels that are empty or too long.
        (parts.hostname or "").encode("idna")
    except ValueError as error:
        raise _malformed(text, str(error)) from error
    if not text.isprintable() or " " in text:
        raise _malformed(text, "it holds a character that no URL has; a blank is written %20")
    if parts.scheme == "file":
        path = str(_path(text))
        if parts.netloc not in {"", "localhost"} or path[:1] != "/" or "\0" in path:
            raise _malformed(text, "a file of this machine is written file:///PATH")
    elif parts.scheme not in {"http", "https"}:
        hint = "" if "://" in text else f"; for a file write {Path(text).absolute().as_uri()}"
        raise UsageError(f"{text!r} is not an http://, https:// or file:// URL{hint}")
    elif not parts.hostname or port == 0:
        raise _malformed(text, "it names no server")
    return text


def without_secrets(url: str) -> str:
    """Return a URL without user, password and query, for messages."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def http_client(timeout: float) -> httpx.Client:
    """Return a client that follows redirects and uses the proxies of the environment.

    It closes a connection after this many seconds without a byte.

    Raises:
        DbtoolError: the environment names a proxy that is not usable.
    """
    import httpx

    def check_redirect(request: httpx.Request) -> None:
        try:
            check_url(str(request.url))
        except UsageError as error:
            raise httpx.UnsupportedProtocol(str(error), request=request) from error

    try:
        return httpx.Client(
            timeout=timeout,
            follow_redirects=True,
            headers={"User-Agent": f"dbtool/{__version__}", "Accept-Encoding": "identity"},
            event_hooks={"request": [check_redirect]},
        )
    except (ValueError, httpx.InvalidURL, ImportError) as error:
        raise DbtoolError(
            f"cannot use the proxy that HTTP_PROXY, HTTPS_PROXY or ALL_PROXY names: {error}"
        ) from error


@contextlib.contextmanager
def get(client: httpx.Client, url: str, offset: int) -> Iterator[Reply]:
    """Request a file at a URL from `check_url` from some byte on; the reply may still start at 0.

    Raises:
        TemporaryError: the connection or the server failed, also while chunks are read.
        PermanentError: the server does not have the file.
        NoMoreError: the file ends at or before the offset.
    """
    import httpx

    if urlsplit(url).scheme == "file":
        with _file_reply(_path(url), offset) as reply:
            yield reply
        return
    headers = {"Range": f"bytes={offset}-"} if offset else {}
    # The last two are those of host names that are not valid.
    lasting = (httpx.UnsupportedProtocol, httpx.TooManyRedirects, httpx.InvalidURL, UnicodeError)
    try:
        request = client.build_request("GET", url, headers=headers)
        with contextlib.closing(_response(client, request)) as response:
            yield _http_reply(response, offset)
    except httpx.TimeoutException as error:
        raise TemporaryError("the server stalled") from error
    except lasting as error:
        raise PermanentError(_failure_reason(error)) from error
    except httpx.RequestError as error:
        kind = PermanentError if "certificate verify failed" in str(error) else TemporaryError
        raise kind(_failure_reason(error)) from error


def _response(client: httpx.Client, request: httpx.Request) -> httpx.Response:
    """Return the response to a request once all its headers are here.

    The client's time-out is one for each piece, so a server could send headers byte by byte for
    ever. A thread of its own waits for these, and ends with the client where they come too late.
    """
    begun: Future[httpx.Response] = Future()

    def send() -> None:
        try:
            begun.set_result(client.send(request, stream=True))
        except BaseException as error:  # noqa: BLE001 (raised below)
            begun.set_exception(error)

    waiting = threading.Thread(target=send, daemon=True)
    waiting.start()
    most = (client.timeout.read or 0.0) * _HEADERS
    waiting.join(most)
    if waiting.is_alive():
        # No retry, since each would wait as long.
        raise PermanentError(f"its answer does not begin within {most:g} s")
    return begun.result()


def _http_reply(response: httpx.Response, offset: int) -> Reply:
    headers, status = response.headers, response.status_code
    if headers.get("Content-Encoding", "identity").lower() != "identity":
        raise PermanentError("the server sends it encoded, which was not requested")
    if status == 200:
        start, total = 0, headers.get("Content-Length", "")
    elif status == 206:
        found = _RANGE.fullmatch(headers.get("Content-Range", ""))
        if found is None or int(found[1]) != offset:
            raise NoMoreError
        start, total = offset, found[2]
    elif status == 416 and offset:
        raise NoMoreError
    else:
        reason = f"the server answers {status} {response.reason_phrase}".rstrip()
        if status not in _TEMPORARY:
            raise PermanentError(reason)
        wait = headers.get("Retry-After", "")
        raise TemporaryError(reason, float(wait) if _NUMBER.fullmatch(wait) else None)
    return Reply(start, int(total) if _NUMBER.fullmatch(total) else None, response.iter_raw())


@contextlib.contextmanager
def _file_reply(path: Path, offset: int) -> Iterator[Reply]:
    try:
        file = open_file(path)
    except OSError as error:
        raise PermanentError(error.strerror or str(error)) from error
    with file:
        size = os.fstat(file.fileno()).st_size
        if offset > size:
            raise NoMoreError
        file.seek(offset)
        chunks = iter(functools.partial(file.read, _CHUNK_BYTES), b"")
        yield Reply(offset, size, chunks)


def _path(url: str) -> Path:
    return Path(os.fsdecode(unquote_to_bytes(urlsplit(url).path)))


def _malformed(text: str, reason: str) -> UsageError:
    return UsageError(f"{text!r} is not a URL that can be fetched: {reason}")


def _failure_reason(error: Exception) -> str:
    """Return a library's message as one clause, without the number of the system error."""
    text = " ".join(re.sub(r"^\[Errno -?\d+\] ", "", str(error)).split()).rstrip(".")
    text = re.sub(r"^\[SSL[^]]*\] (.*?)(?: \(_ssl\.c:\d+\))?$", r"no secure connection: \1", text)
    return text or "the connection broke"
