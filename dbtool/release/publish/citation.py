"""Writes how to cite a release: CITATION.cff, and citation.bib where it gives BibTeX."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dbtool.release.publish import bibtex
from dbtool.release.publish.licences import is_spdx
from dbtool.release.publish.parquet import described
from dbtool.store.published.layout import BIBTEX, CITATION

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dbtool.store.published.manifest import PublishedFile, PublishedManifest


def write_citation(folder: Path, manifest: PublishedManifest) -> list[PublishedFile]:
    """Writes CITATION.cff and, where the release gives BibTeX, citation.bib.

    Args:
        folder: the release's folder.
        manifest: what is said about the release.
    """
    texts = {CITATION: "\n".join(_lines(manifest)) + "\n"}
    if manifest.citation is not None:
        texts[BIBTEX] = manifest.citation.strip() + "\n"
    for name, text in texts.items():
        (folder / name).write_bytes(text.encode())
    return [described(folder / name, name) for name in texts]


def _lines(manifest: PublishedManifest) -> Iterator[str]:
    """The lines of CITATION.cff. JSON's strings are YAML's too, whatever they hold."""
    entry = bibtex.fields(manifest.citation or "")
    yield "cff-version: 1.2.0"
    yield "message: If you use these measurements, please cite them as below."
    yield "type: dataset"
    yield f"title: {_text(manifest.title or entry.get('title') or manifest.release)}"
    yield "authors:"
    for name in bibtex.authors(entry.get("author", "")) or [_nobody(manifest)]:
        yield from _author(name)
    if is_spdx(manifest.licence):
        yield f"license: {manifest.licence}"
    if entry.get("doi"):
        yield f"doi: {_text(entry['doi'])}"
    if entry.get("url"):
        yield f"url: {_text(entry['url'])}"


def _author(name: str) -> Iterator[str]:
    """The lines of an author: a person where family and given names are apart."""
    family, comma, given = name.partition(",")
    if comma and given.strip():
        yield f"  - family-names: {_text(family.strip())}"
        yield f"    given-names: {_text(given.strip())}"
    else:
        yield f"  - name: {_text(name)}"


def _nobody(manifest: PublishedManifest) -> str:
    return f"The authors of the release {manifest.release}"


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
