"""The files that publishing adds to a release folder, and the hashes of all."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from dbtool.core.manifest import MANIFEST, encode_manifest

if TYPE_CHECKING:
    from dbtool.core.manifest import Manifest

BIBTEX = "citation.bib"
CARD = "README.md"
CITATION = "CITATION.cff"
ICEBERG = "iceberg"
"""The folder of Iceberg tables, a folder each."""
SCRIPT = "dbtool.sql"
SHARDS = "measurements/**/*.parquet"
"""The shards of a release, as a pattern below its folder."""


def iceberg_state(table: str) -> str:
    """Where the state of an Iceberg table lies, which names its other files.

    Example:
        >>> iceberg_state("trials")
        'iceberg/trials/metadata/v1.metadata.json'
    """
    return f"{ICEBERG}/{table}/metadata/v1.metadata.json"


def sums(manifest: Manifest) -> str:
    """The text of SHA256SUMS, which `sha256sum -c` checks: every other file of a release."""
    hashes = {file.path: file.sha256 for file in manifest.files}
    hashes[MANIFEST] = hashlib.sha256(encode_manifest(manifest)).hexdigest()
    return "".join(f"{hashes[path]}  {path}\n" for path in sorted(hashes))
