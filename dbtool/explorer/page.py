"""The explorer's page: one file, whose policy lets its own script and style run and no other."""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

from dbtool import __version__
from dbtool.core.errors import DbtoolError

if TYPE_CHECKING:
    from collections.abc import Mapping

TITLE = "Steps to result"


def page(
    facts: Mapping[str, Any],
    *,
    trials: bytes = b"",
    improvements: bytes = b"",
    curves: bytes = b"",
    figures: bytes = b"",
) -> str:
    """The page's text; the same contents give the same text.

    Args:
        facts: see `contents.facts_of`.
        trials: Parquet; none where the page lies beside the file.
        improvements: likewise.
        curves: likewise, and none where there are too many.
        figures: JSON, gzipped.

    Raises:
        DbtoolError: the application was not built.
    """
    style, script = _built("explorer.css"), _built("explorer.js")
    names = ", ".join(each["release"] for each in facts["releases"])
    return Template(_read("assets", "page.html")).substitute(
        title=escape(f"{TITLE}: {names}" if names else TITLE),
        version=escape(__version__),
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        connect="'self'" if facts["files"] else "'none'",
        # Within a script HTML ends at the next closing tag, wherever it stands.
        facts=json.dumps(facts, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c"),
        trials=_base64(trials),
        improvements=_base64(improvements),
        curves=_base64(curves),
        figures=_base64(figures),
        notices=escape(_built("notices.txt")),
    )


def require_built() -> None:
    """Refuses to go on without the application, before the data are read.

    Raises:
        DbtoolError: it was not built.
    """
    _built("explorer.js")


def _built(name: str) -> str:
    """A file of the application.

    Raises:
        DbtoolError: it was not built.
    """
    try:
        return _read("built", name)
    except FileNotFoundError as error:
        raise DbtoolError(
            "the explorer's application is not built: run `make explorer` in the checkout, which "
            "needs Node.js with npm"
        ) from error


def _read(folder: str, name: str) -> str:
    return files("dbtool.explorer").joinpath(folder, name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """What the page's policy knows its own script or style by."""
    return f"sha256-{_base64(hashlib.sha256(text.encode()).digest())}"


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
