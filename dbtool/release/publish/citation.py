"""How to cite a release: CITATION.cff, and what BibTeX and the licence's identifier say of it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from dbtool.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dbtool.core.manifest import Manifest

_ENTRY = re.compile(r"@(?!comment|string|preamble)\w+\s*\{[^,]*,", re.IGNORECASE)
# A name with a value in braces, which may hold braces twice, in quotes, or a number.
_FIELD = re.compile(
    r"([A-Za-z][\w-]*)\s*=\s*"
    r'(?:\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}|"([^"]*)"|(\d+))'
)

# SPDX identifiers.
_LICENCES = frozenset(
    {
        *("CC0-1.0", "CC-BY-3.0", "CC-BY-4.0", "CC-BY-SA-3.0", "CC-BY-SA-4.0", "CC-BY-NC-4.0"),
        *("CC-BY-NC-SA-4.0", "CC-BY-NC-ND-4.0", "CC-BY-ND-4.0", "CDLA-Permissive-1.0"),
        *("CDLA-Permissive-2.0", "CDLA-Sharing-1.0", "Apache-2.0", "MIT", "BSD-2-Clause"),
        *("BSD-3-Clause", "ODbL-1.0", "ODC-By-1.0", "PDDL-1.0"),
    }
)
# Where Hugging Face's name is not the identifier in small letters.
_HUGGING_FACE = {"ODbL-1.0": "odbl", "ODC-By-1.0": "odc-by", "PDDL-1.0": "pddl"}


def read_bibtex(path: Path) -> str:
    """The BibTeX entries of a file.

    Raises:
        UsageError: it holds none, or cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    if not _ENTRY.search(text):
        raise UsageError(
            f"{path} holds no BibTeX entry, such as @misc{{my-release, title = {{…}}}}"
        )
    return text


def bibtex_fields(text: str) -> dict[str, str]:
    """The fields of the first entry by their names in small letters; none where there is no entry.

    Braces around letters, which only keep them large, are taken away.
    """
    _, *entries = _ENTRY.split(text)
    found: dict[str, str] = {}
    for name, *values in _FIELD.findall(entries[0] if entries else ""):
        found.setdefault(name.lower(), " ".join(re.sub(r"[{}]", "", "".join(values)).split()))
    return found


def citation_cff(manifest: Manifest) -> str:
    """The text of CITATION.cff."""
    return "\n".join(_lines(manifest)) + "\n"


def _lines(manifest: Manifest) -> Iterator[str]:
    """The lines of CITATION.cff. JSON's strings are YAML's too, whatever they hold."""
    entry = bibtex_fields(manifest.citation or "")
    authors = [name.strip() for name in re.split(r"\s+and\s+", entry.get("author", ""))]
    yield "cff-version: 1.2.0"
    yield "message: If you use these measurements, please cite them as below."
    yield "type: dataset"
    yield f"title: {_text(manifest.title or entry.get('title') or manifest.release)}"
    yield "authors:"
    for name in authors:
        yield from _author(name or f"The authors of the release {manifest.release}")
    if is_spdx(manifest.licence):
        yield f"license: {manifest.licence}"
    for name in ("doi", "url"):
        if entry.get(name):
            yield f"{name}: {_text(entry[name])}"


def _author(name: str) -> Iterator[str]:
    """The lines of an author: a person where family and given names are apart."""
    family, comma, given = name.partition(",")
    if comma and given.strip():
        yield f"  - family-names: {_text(family.strip())}"
        yield f"    given-names: {_text(given.strip())}"
    else:
        yield f"  - name: {_text(name)}"


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def is_spdx(licence: str | None) -> bool:
    """Whether it is an SPDX identifier that is known here."""
    return licence in _LICENCES


def licence_url(licence: str) -> str:
    """Where the licence is to be read; the licence itself where that is not known."""
    return f"https://spdx.org/licenses/{licence}.html" if licence in _LICENCES else licence


def hugging_face_licence(licence: str) -> str | None:
    """What Hugging Face calls it; None where it has no name for it."""
    return _HUGGING_FACE.get(licence, licence.lower()) if licence in _LICENCES else None
