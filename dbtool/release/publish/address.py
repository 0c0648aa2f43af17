"""Absolute addresses of a release's files, which catalogs of tables hold."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from dbtool.core.errors import UsageError, closest
from dbtool.core.http import check_url

if TYPE_CHECKING:
    from pathlib import Path

_WEB = ("https", "http")
_SCHEMES = (*_WEB, "s3", "s3a", "gs", "abfs", "abfss", "hdfs", "hf", "file")
# What begins a query or a fragment, and what would end a text in a program.
_NEVER = re.compile(r"[?#\"\\]")


def check_base_url(text: str) -> str:
    """The address of a release folder, without a slash at its end.

    Args:
        text: as a person gives it: of a web server, an object store, a data set hub or a file
            system.

    Raises:
        UsageError: it is no such address, or has more than a server and a path.

    Example:
        >>> check_base_url("s3://bucket/my-release/")
        's3://bucket/my-release'
    """
    scheme, is_url, rest = text.partition("://")
    if is_url and scheme not in _SCHEMES:
        known = ", ".join(f"{name}://" for name in closest(scheme, _SCHEMES))
        raise UsageError(f"--base-url {text!r} begins with {scheme}://; closest: {known}")
    is_placed = rest.startswith("/") == (scheme == "file") and rest.strip("/")
    has_user = is_web(text) and "@" in rest.partition("/")[0]
    is_written = text.isprintable() and not re.search(rf"{_NEVER.pattern}|[ ']", rest)
    if not is_placed or has_user or not is_written:
        raise UsageError(
            f"--base-url {text!r} is not an address of a folder, such as s3://bucket/my-release or "
            "https://example.org/my-release: give one without user, query, blanks or quotes"
        )
    if is_web(text):
        check_url(text)
    return text.rstrip("/")


def address_of_folder(folder: Path) -> str:
    """The address of a folder of this machine.

    Raises:
        UsageError: its path cannot be written as an address.
    """
    path = str(folder.resolve())
    if _NEVER.search(path) or not path.isprintable():
        raise UsageError(
            f"the path {path!r} has a letter that no address holds: name another folder, or give "
            "the address that it will have with --base-url"
        )
    return f"file://{path}"


def is_web(base: str) -> bool:
    """Whether an address is one of a web server."""
    return base.startswith(tuple(f"{scheme}://" for scheme in _WEB))


def address_of(base: str, path: str) -> str:
    """The address of a file.

    Args:
        base: of the release folder, from `check_base_url`.
        path: of the file, below the folder. Servers of the web read %2F in an address as a slash,
            so that there its percent signs are written as %25; stores take names as they are.
    """
    return f"{base}/{quote(path) if is_web(base) else path}"
