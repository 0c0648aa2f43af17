"""Where a file is fetched from, and what it must be."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, unquote, unquote_to_bytes, urlsplit, urlunsplit

from dbtool.archive.published import ABOUT_BYTES, FILE_NAME, SHA256, URL
from dbtool.errors import UsageError

_SHA256 = re.compile(r"[0-9a-f]{64}")
# How far a rounded size may be from the file's: a megabyte may mean 1000 or 1024 kilobytes.
_ROUNDING = 0.1


@dataclass(frozen=True)
class Address:
    """One place that has the file.

    Attributes:
        url: the whole URL.
        shown: the URL without user, password and query, which may be secret: for messages, and for
            telling later whether a part came from here.
        file: the path of a file:// URL; None for http and https.
    """

    url: str
    shown: str
    file: Path | None = None


@dataclass(frozen=True)
class Source:
    """A file that is known by its hash.

    Attributes:
        name: the file's name.
        sha256: its hash, 64 lowercase hex digits.
        addresses: where to get it, tried in order; at least one.
        about_bytes: its size, rounded; None where it is not known.
    """

    name: str
    sha256: str
    addresses: tuple[Address, ...]
    about_bytes: int | None = None

    def can_grow_to(self, size: int) -> bool:
        """Whether the file can have that many bytes or more."""
        return self.about_bytes is None or size <= (1 + _ROUNDING) * self.about_bytes

    def can_have(self, size: int) -> bool:
        """Whether the file can have that many bytes."""
        return (
            self.about_bytes is None or abs(size - self.about_bytes) <= _ROUNDING * self.about_bytes
        )


def find_source(
    url: str | None = None, mirrors: tuple[str, ...] = (), sha256: str | None = None
) -> Source:
    """The published archive, or the file that was asked for.

    Args:
        url: an address to use in place of the published one.
        mirrors: addresses to try after it, in order.
        sha256: the hash of another file; None: the published archive's.

    Raises:
        UsageError: an address or the hash is malformed, or a hash comes without an address.
    """
    places = ((url,) if url is not None else ()) + mirrors
    if sha256 is None:
        first = (URL,) if url is None else ()
        addresses = tuple(parse_address(place) for place in (*first, *places))
        return Source(FILE_NAME, SHA256, addresses, ABOUT_BYTES)
    if not _SHA256.fullmatch(sha256.lower()):
        raise UsageError(
            f"{sha256!r} is not a sha256: give 64 hex digits, as `sha256sum FILE` prints them"
        )
    if not places:
        raise UsageError("--sha256 names another file than the published one: give its --url too")
    addresses = tuple(parse_address(place) for place in places)
    name = unquote(urlsplit(addresses[0].url).path).rpartition("/")[2]
    return Source(name if _is_file_name(name) else FILE_NAME, sha256.lower(), addresses)


def parse_address(text: str) -> Address:
    """An address from what a person wrote.

    Raises:
        UsageError: it is no http, https or file URL.
    """
    try:
        parts = urlsplit(text)
        port = parts.port
        # What name servers are asked for; raises on labels that are empty or too long.
        (parts.hostname or "").encode("idna")
    except ValueError as error:
        raise _malformed(text, str(error)) from error
    if not text.isprintable() or " " in text:
        raise _malformed(text, "it holds a character that no URL has")
    if parts.scheme == "file":
        return _file_address(text, parts)
    if parts.scheme not in {"http", "https"}:
        hint = f"; for a file of this machine write {_file_url(text)}" if _is_path(text) else ""
        raise UsageError(f"{text!r} is no http://, https:// or file:// address{hint}")
    if not parts.hostname or port == 0:
        raise _malformed(text, "it names no server")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    place = host if port is None else f"{host}:{port}"
    return Address(text, urlunsplit((parts.scheme, place, parts.path, "", "")))


def _file_address(text: str, parts: SplitResult) -> Address:
    """The address of a file of this machine.

    Raises:
        UsageError: it names another machine, or no absolute path.
    """
    if parts.netloc not in {"", "localhost"}:
        raise UsageError(
            f"{text!r} names a file of another machine, {parts.netloc!r}; "
            "a file of this one is written file:///PATH"
        )
    # A ? or # in a file's name is no query.
    quoted = text.partition(":")[2].removeprefix("//").removeprefix("localhost")
    path = os.fsdecode(unquote_to_bytes(quoted))
    if not path.startswith("/") or "\0" in path:
        raise _malformed(text, "a file is written file:///PATH")
    return Address(text, text, Path(path))


def _is_path(text: str) -> bool:
    return "://" not in text


def _file_url(text: str) -> str:
    return Path(text).absolute().as_uri()


def _is_file_name(name: str) -> bool:
    return name not in {"", ".", ".."} and name.isprintable() and not {"/", "\0"} & set(name)


def _malformed(text: str, reason: str) -> UsageError:
    return UsageError(f"{text!r} is not an address that can be fetched: {reason}")
