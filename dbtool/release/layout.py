"""The files that publishing adds to a release folder, and the hashes of all files."""

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
"""The folder of Iceberg tables, with one folder per table."""
SCRIPT = "dbtool.sql"
SHARDS = "measurements/**/*.parquet"
"""The pattern of the shards' paths, relative to the release folder."""


def iceberg_state(table: str) -> str:
    """Return the path of an Iceberg table's metadata file, which names the other files.

    Example:
        >>> iceberg_state("trials")
        'iceberg/trials/metadata/v1.metadata.json'
    """
    return f"{ICEBERG}/{table}/metadata/v1.metadata.json"


def sums(manifest: Manifest) -> str:
    """Return the text of SHA256SUMS for `sha256sum -c`, with every other file of a release."""
    hashes = {file.path: file.sha256 for file in manifest.files}
    hashes[MANIFEST] = hashlib.sha256(encode_manifest(manifest)).hexdigest()
    return "".join(f"{hashes[path]}  {path}\n" for path in sorted(hashes))
