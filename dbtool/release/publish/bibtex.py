"""Reads from a BibTeX entry what a citation in another form needs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dbtool.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

_ENTRY = re.compile(r"@(?!comment|string|preamble)\w+\s*\{[^,]*,", re.IGNORECASE)
_FIELD = re.compile(r"\s*,?\s*([A-Za-z][\w-]*)\s*=\s*")
_NUMBER = re.compile(r"\d+")


def read_bibtex(path: Path) -> str:
    """The BibTeX entries of a file.

    Raises:
        UsageError: it holds none.
    """
    text = path.read_text(encoding="utf-8", errors="replace").strip()
    if not _ENTRY.search(text):
        raise UsageError(
            f"{path} holds no BibTeX entry, such as @misc{{my-release, title = {{…}}}}"
        )
    return text


def fields(text: str) -> dict[str, str]:
    """The fields of the first entry by their names in small letters; none where there is no entry.

    Braces around letters, which only keep them large, are taken away.
    """
    entry = _ENTRY.search(text)
    found: dict[str, str] = {}
    position = entry.end() if entry else len(text)
    while match := _FIELD.match(text, position):
        value, position = _value(text, match.end())
        if value is None:
            break
        found.setdefault(match[1].lower(), " ".join(re.sub(r"[{}]", "", value).split()))
    return found


def authors(text: str) -> list[str]:
    """The names that the field `author` holds, in order."""
    return [name.strip() for name in re.split(r"\s+and\s+", text) if name.strip()]


def _value(text: str, start: int) -> tuple[str | None, int]:
    """A value in braces or quotes, or a number, and where it ends; None where it is neither."""
    if number := _NUMBER.match(text, start):
        return number[0], number.end()
    if text[start : start + 1] not in {"{", '"'}:
        return None, start
    closing = "}" if text[start] == "{" else '"'
    depth = 0
    for position in range(start + 1, len(text)):
        letter = text[position]
        if letter == closing and depth == 0:
            return text[start + 1 : position], position + 1
        depth += (letter == "{") - (letter == "}")
    return None, start
