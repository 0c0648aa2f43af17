"""The explorer's page: one file, with a policy that runs no script or style but its own."""

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
    """Return the page's text; equal contents give equal text.

    Args:
        facts: see `contents.facts_of`.
        trials: Parquet; empty where the page has the file beside it.
        improvements: likewise.
        curves: likewise, and empty where there are too many values.
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
        # In HTML a script ends at the next closing tag, wherever it is.
        facts=json.dumps(facts, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c"),
        trials=_base64(trials),
        improvements=_base64(improvements),
        curves=_base64(curves),
        figures=_base64(figures),
        notices=escape(_built("notices.txt")),
    )


def require_built() -> None:
    """Raise if the application is missing, before any data are read.

    Raises:
        DbtoolError: the application was not built.
    """
    _built("explorer.js")


def _built(name: str) -> str:
    """Return a file of the application.

    Raises:
        DbtoolError: the application was not built.
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
    """Return the hash by which the page's policy allows its own script or style."""
    return f"sha256-{_base64(hashlib.sha256(text.encode()).digest())}"


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()
