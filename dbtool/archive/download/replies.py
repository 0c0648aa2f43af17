"""What comes when a file is asked for from some byte on, by HTTP or from this machine's disk."""

from __future__ import annotations

import contextlib
import functools
import re
import ssl
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx

from dbtool import __version__
from dbtool.archive.download.part import Version, plain_header
from dbtool.archive.download.source import parse_address
from dbtool.errors import DbtoolError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dbtool.archive.download.source import Address

_CHUNK_BYTES = 1 << 18
_RANGE = re.compile(r"bytes ([0-9]{1,18})-[0-9]{1,18}/([0-9]{1,18}|\*)")
_OUT_OF_RANGE = re.compile(r"bytes \*/([0-9]{1,18})")
# Answers that another try can better: time-outs, too many requests, a server in trouble.
_TEMPORARY = {408, 421, 425, 429, 500, 502, 503, 504}
# Python puts the number of the system's error in front.
_NUMBER = re.compile(r"^\[Errno -?\d+\] ")


class TemporaryError(Exception):
    """Nothing (more) came, and another try may bring it.

    Attributes:
        wait: the seconds the server asks to wait; None where it asks for none.
    """

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


class PermanentError(Exception):
    """This address does not have the file."""


class StartOverError(Exception):
    """The server cannot go on where the part ends."""


@dataclass(frozen=True)
class Reply:
    """Bytes of a file as they come.

    Attributes:
        start: which byte of the file the first one is.
        version: what is known of the file.
        chunks: the bytes.
        at_end: the server says that the file ends there and sends nothing.
    """

    start: int
    version: Version
    chunks: Iterator[bytes]
    at_end: bool = False


def http_client(timeout: float) -> httpx.Client:
    """A client that follows redirects and takes the proxies of the environment.

    Args:
        timeout: the seconds without a byte after which a connection is given up.

    Raises:
        DbtoolError: the environment names a proxy that cannot be used.
    """
    try:
        return httpx.Client(
            timeout=timeout,
            follow_redirects=True,
            headers={"User-Agent": f"dbtool/{__version__}", "Accept-Encoding": "identity"},
            # A redirect is no better than an address that a person gives.
            event_hooks={"request": [_check_redirect]},
        )
    except (ValueError, httpx.InvalidURL, ImportError) as error:
        raise DbtoolError(
            f"cannot use the proxy that HTTP_PROXY, HTTPS_PROXY or ALL_PROXY names: {error}"
        ) from error


@contextlib.contextmanager
def ask(client: httpx.Client, address: Address, offset: int, known: Version) -> Iterator[Reply]:
    """Asks for a file from some byte on.

    Args:
        client: from `http_client`.
        address: where the file is.
        offset: the first byte wanted; the reply may start at 0 all the same.
        known: the version that the bytes before it belong to.

    Raises:
        TemporaryError: the connection or the server failed; also while chunks are read.
        PermanentError: the file is not there.
        StartOverError: there is nothing that follows these bytes.
    """
    if address.file is not None:
        with _file_reply(address.file, offset) as reply:
            yield reply
        return
    with plain_failures():
        headers = _range_headers(offset, known)
        with client.stream("GET", address.url, headers=headers) as response:
            yield _http_reply(response, offset)


@contextlib.contextmanager
def plain_failures() -> Iterator[None]:
    """Says of each way in which a connection fails in the block whether another try may help.

    Raises:
        TemporaryError: it may.
        PermanentError: it will not.
    """
    try:
        yield
    except httpx.TimeoutException as error:
        raise TemporaryError("the server stalled") from error
    except (httpx.UnsupportedProtocol, httpx.TooManyRedirects) as error:
        raise PermanentError(_reason(error)) from error
    except (httpx.InvalidURL, UnicodeError) as error:
        # Names of hosts that no server can have, in addresses and redirects.
        raise PermanentError(_reason(error)) from error
    except httpx.RequestError as error:
        if _is_about_certificates(error):
            raise PermanentError(_reason(error)) from error
        raise TemporaryError(_reason(error)) from error


@contextlib.contextmanager
def _file_reply(path: Path, offset: int) -> Iterator[Reply]:
    """The bytes of a file of this machine.

    Raises:
        PermanentError: it cannot be read.
        StartOverError: it ends before the offset.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise PermanentError("it is no file")
        with path.open("rb") as file:
            if offset > status.st_size:
                raise StartOverError
            file.seek(offset)
            etag = f'"{status.st_mtime_ns}"'
            chunks = iter(functools.partial(file.read, _CHUNK_BYTES), b"")
            yield Reply(offset, Version(etag, None, status.st_size), chunks)
    except OSError as error:
        raise PermanentError(error.strerror or str(error)) from error


def _range_headers(offset: int, known: Version) -> dict[str, str]:
    """What asks for the rest of that version alone."""
    if not offset:
        return {}
    headers = {"Range": f"bytes={offset}-"}
    if known.validator:
        headers["If-Range"] = known.validator
    return headers


def _http_reply(response: httpx.Response, offset: int) -> Reply:
    """The reply that a response makes.

    Raises:
        TemporaryError: the server is in trouble.
        PermanentError: the server does not give the file.
        StartOverError: the server cannot go on at the offset.
    """
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise PermanentError("the server sends it encoded, which was not asked for")
    if response.status_code == httpx.codes.OK:
        length = response.headers.get("Content-Length", "")
        total = int(length) if length.isdecimal() else None
        return Reply(0, version_of(response, total), response.iter_raw())
    if response.status_code == httpx.codes.PARTIAL_CONTENT:
        return _partial_reply(response, offset)
    if response.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE and offset:
        end = _OUT_OF_RANGE.fullmatch(response.headers.get("Content-Range", ""))
        if end is None or int(end[1]) != offset:
            raise StartOverError
        return Reply(offset, version_of(response, offset), iter(()), at_end=True)
    raise refusal(response)


def refusal(response: httpx.Response) -> TemporaryError | PermanentError:
    """The error for an answer that is no part of a file."""
    reason = f"the server answers {response.status_code} {response.reason_phrase}".rstrip()
    if response.status_code in _TEMPORARY:
        wait = response.headers.get("Retry-After", "")
        return TemporaryError(reason, float(wait) if wait.isdecimal() else None)
    return PermanentError(reason)


def _partial_reply(response: httpx.Response, offset: int) -> Reply:
    """The reply of a server that goes on at the offset.

    Raises:
        StartOverError: it goes on somewhere else.
    """
    start, total = part_sent(response)
    if start != offset:
        raise StartOverError
    return Reply(offset, version_of(response, total), response.iter_raw())


def part_sent(response: httpx.Response) -> tuple[int | None, int | None]:
    """The first byte that a response brings and the length of the whole file, as far as it says."""
    found = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
    if found is None:
        return None, None
    return int(found[1]), None if found[2] == "*" else int(found[2])


def version_of(response: httpx.Response, total: int | None) -> Version:
    """What a response tells of the file's state."""
    etag, modified = (
        plain_header(response.headers.get(name)) for name in ("ETag", "Last-Modified")
    )
    return Version(etag, modified, total)


def _check_redirect(request: httpx.Request) -> None:
    try:
        parse_address(str(request.url))
    except UsageError as error:
        raise httpx.UnsupportedProtocol(str(error), request=request) from error


def _is_about_certificates(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _reason(error: Exception) -> str:
    """One clause on what a library says."""
    text = " ".join(_NUMBER.sub("", str(error)).split()).rstrip(".")
    return text or "the connection broke"
