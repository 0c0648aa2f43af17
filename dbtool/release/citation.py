"""How to cite releases: BibTeX, CITATION.cff, and what a licence's identifier says."""

import contextlib
import datetime as dt
import hashlib
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbtool import __version__
from dbtool.core.errors import UsageError
from dbtool.core.files import read_small
from dbtool.core.manifest import Manifest
from dbtool.sources.archive.published import ARCHIVE_CITATION
from dbtool.store.questions import index_question

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbtool.core.shards import Shard
    from dbtool.store.releases import Releases

# Texts of others: no expression looks twice at what it has passed (`*+`, and `\b`).
_ENTRY = re.compile(r"@(?!comment|string|preamble)\w++\s*+\{[^,{}]*+,", re.IGNORECASE)
# A name with a value in braces, which may hold braces twice, in quotes, or a number.
_FIELD = re.compile(
    r"(?<![\w-])([A-Za-z][\w-]*+)\s*+=\s*+"
    r'(?:\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}|"([^"]*)"|(\d+))'
)
_YEAR = re.compile(r"[1-9]\d{3}")
_VERSION = re.compile(r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){0,2}")

_SPDX = (
    "CC0-1.0 CC-BY-3.0 CC-BY-4.0 CC-BY-SA-3.0 CC-BY-SA-4.0 CC-BY-NC-4.0 CC-BY-NC-SA-4.0 "
    "CC-BY-NC-ND-4.0 CC-BY-ND-4.0 CDLA-Permissive-1.0 CDLA-Permissive-2.0 CDLA-Sharing-1.0 "
    "Apache-2.0 MIT BSD-2-Clause BSD-3-Clause"
)
LICENCES = {
    **{name: name.lower() for name in _SPDX.split()},
    "ODbL-1.0": "odbl",
    "ODC-By-1.0": "odc-by",
    "PDDL-1.0": "pddl",
}
"""The SPDX identifiers that are known here, and what Hugging Face calls these licences."""
_KEY = re.compile(r"@\w+\s*\{\s*([^,\s]+)")
_SPARSITY_PAPER = """\
@inproceedings{lee2021understanding,
  title = {Understanding the effects of data parallelism and sparsity on neural network training},
  author = {Lee, Namhoon and Ajanthan, Thalaiyasingam and Torr, Philip H. S. and Jaggi, Martin},
  booktitle = {International Conference on Learning Representations},
  year = {2021},
  url = {https://openreview.net/forum?id=rsogjAnYs4z},
}
"""
_SOFTWARE = f"""\
@misc{{dbtool,
  title = {{dbtool: a database of training measurements across batch sizes}},
  author = {{{{The dbtool authors}}}},
  year = {{2026}},
  note = {{Version {__version__}}},
}}
"""


def read_bibtex(path: Path) -> str:
    """Return the BibTeX entries of a file; a UsageError where it has none."""
    try:
        text = read_small(path).decode(errors="replace").strip()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    if not _ENTRY.search(text):
        raise UsageError(
            f"{path} holds no BibTeX entry, such as @misc{{my-release, title = {{…}}}}"
        )
    return text


def bibtex_fields(text: str) -> dict[str, str]:
    """Return the fields of the first entry, by their names in lowercase.

    Braces in values, which only keep letters large, are dropped.
    """
    _, *entries = _ENTRY.split(text)
    found: dict[str, str] = {}
    for name, *values in _FIELD.findall(entries[0] if entries else ""):
        found.setdefault(name.lower(), " ".join(re.sub(r"[{}]", "", "".join(values)).split()))
    return found


@dataclass(frozen=True)
class Citation:
    """What identifies a release in a citation; equal releases have equal ones.

    Attributes:
        authors: names as in BibTeX.
        date: date of the publication, as YYYY-MM-DD or YYYY: that of the BibTeX, or else the day on
            which the newest shard was written; None where neither is known.
        version: that of the BibTeX, or else 1.0.0+DIGEST with a digest of the shards.
        url: that of the BibTeX, or that of the DOI.
        bibtex: the entries; None where the release has none.
    """

    title: str
    authors: tuple[str, ...]
    date: str | None
    version: str
    doi: str | None
    url: str | None
    bibtex: str | None

    @property
    def text(self) -> str:
        """The BibTeX; a sentence where there is none."""
        if self.bibtex is not None:
            return self.bibtex
        dated = f", {self.date}" if self.date else ""
        return f"{' and '.join(self.authors)}: {self.title}. Version {self.version}{dated}."


def citation_of(manifest: Manifest, shards: "Sequence[Shard]") -> Citation:
    """Return the citation of a release with these shards."""
    entry = bibtex_fields(manifest.citation or "")
    authors = [name.strip() for name in re.split(r"\s+and\s+", entry.get("author", ""))]
    doi = entry.get("doi", "").removeprefix("https://doi.org/") or None
    digest = hashlib.sha256("".join(sorted(shard.sha256 for shard in shards)).encode())
    stated = _VERSION.fullmatch(entry.get("version", ""))
    return Citation(
        title=manifest.title or entry.get("title") or manifest.release,
        authors=tuple(name or f"The authors of the release {manifest.release}" for name in authors),
        date=_stated_date(entry) or _newest_day(shards),
        version=stated[0] if stated else f"1.0.0+{digest.hexdigest()[:12]}",
        doi=doi,
        url=entry.get("url") or (f"https://doi.org/{doi}" if doi else None),
        bibtex=manifest.citation,
    )


def _stated_date(entry: dict[str, str]) -> str | None:
    """Return the date of an entry, or its year."""
    with contextlib.suppress(ValueError):
        return dt.date.fromisoformat(entry.get("date", "")).isoformat()
    year = _YEAR.match(entry.get("date", "")) or _YEAR.fullmatch(entry.get("year", ""))
    return year[0] if year else None


def _newest_day(shards: "Sequence[Shard]") -> str | None:
    """Return the day, in UTC, on which the newest shard with a date was written."""
    moments = []
    for shard in shards:
        also: Any = shard.footer.producer.get("also")
        for producer in (shard.footer.producer, *(also if isinstance(also, list) else [])):
            # Whatever another program wrote there.
            with contextlib.suppress(AttributeError, TypeError, ValueError, OverflowError):
                moment = dt.datetime.fromisoformat(producer.get("created"))
                zone = moment.tzinfo or dt.UTC
                moments.append(moment.replace(tzinfo=zone).astimezone(dt.UTC))
    return max(moments).date().isoformat() if moments else None


def citation_cff(citation: Citation, licence: str | None) -> str:
    """Return the text of CITATION.cff."""
    date = citation.date or ""
    content = {
        "cff-version": "1.2.0",
        "message": "If you use these measurements, please cite them as below.",
        "type": "dataset",
        "title": citation.title,
        "authors": [_author(name) for name in citation.authors],
        "version": citation.version,
        # A year alone is not a date there.
        "date-released": dt.date.fromisoformat(date) if len(date) > len("2025") else None,
        "license": licence if licence in LICENCES else None,
        "doi": citation.doi,
        "url": citation.url,
    }
    return as_yaml({name: value for name, value in content.items() if value})


def _author(name: str) -> dict[str, str]:
    """Return an author: a person where a comma follows the family name."""
    family, comma, given = name.partition(",")
    if comma and given.strip():
        return {"family-names": family.strip(), "given-names": given.strip()}
    return {"name": name}


def as_yaml(content: dict[str, Any]) -> str:
    """Return names and values as YAML, in order."""
    import yaml

    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=math.inf)


def check_licence(licence: str) -> None:
    """Raise a UsageError for a misspelt identifier, such as `CC BY 4.0`; a sentence passes."""
    meant = {_letters(known): known for known in LICENCES}.get(_letters(licence), licence)
    if meant != licence:
        raise UsageError(f"the identifier of the licence {licence!r} is {meant}: --licence {meant}")


def _letters(licence: str) -> str:
    return re.sub(r"[^a-z0-9.]", "", licence.lower())


def licence_url(licence: str) -> str:
    """Return the URL of a licence's text; the licence itself where it is not known here."""
    return f"https://spdx.org/licenses/{licence}.html" if licence in LICENCES else licence


def _made_entry(release: str, title: str, licence: str | None, year: int | None) -> str:
    """Return BibTeX that cites a release, without what TeX would take for commands."""
    name, title, licence = (
        re.sub(r"[&%$#_]", r"\\\g<0>", re.sub(r"[{}\\]", "", each or ""))
        for each in (release, title, licence)
    )
    fields = [
        f"title = {{{title}}}",
        f"author = {{{{The authors of the release {name}}}}}",
        *([f"year = {{{year}}}"] if year else []),
        *([f"note = {{Licence {licence}}}"] if licence else []),
    ]
    lines = "".join(f"  {field},\n" for field in fields)
    return f"@misc{{{re.sub(r'[^A-Za-z0-9_.-]+', '-', release)},\n{lines}}}\n"


def bibtex(db: "Releases", release: str | None = None) -> str:
    """Return the BibTeX entries of the papers and this program, then those of releases.

    A release that gives none has one made from its name, title, licence and year.

    BibTeX rejects repeated keys, so only the first of the entries with the same key is returned.
    """
    own = [
        citation or _made_entry(*about)
        for *about, citation in db.result(index_question("cite", release=release))
    ]
    entries: dict[str, str] = {}
    for entry in map(str.strip, [ARCHIVE_CITATION, _SPARSITY_PAPER, _SOFTWARE, *own]):
        key = _KEY.search(entry)
        entries.setdefault(key[1] if key else entry, entry)
    return "\n\n".join(entries.values())
