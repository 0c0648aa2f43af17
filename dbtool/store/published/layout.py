"""What lies where in a published release folder."""

from __future__ import annotations

import hashlib
import re
from urllib.parse import quote

MANIFEST = "manifest.json"
SUMS = "SHA256SUMS"
CARD = "README.md"
CITATION = "CITATION.cff"
BIBTEX = "citation.bib"
CROISSANT = "croissant.json"
MEASUREMENTS = "measurements"
TABLES = ("releases", "workloads", "studies", "shards", "trials", "improvements")
"""The tables that are one file each; measurements are a file a workload."""

STORED = {
    "releases": "release",
    "workloads": "workload",
    "studies": "study",
    "shards": "shard",
    "trials": "trial",
    "improvements": "improvement",
    MEASUREMENTS: "measurement",
}
"""The stored table whose rows each published one holds, see schema/tables.sql."""

# What every file system and every URL takes as it is.
_PLAIN = "+-._=@,~"
_LONGEST = 180
_DIGITS = 16


def table_path(table: str) -> str:
    """Where a table lies, below the folder."""
    return f"tables/{table}.parquet"


def measurements_path(workload: str) -> str:
    """Where the measurements of a workload lie, below the folder.

    The name's parts become folders. Letters that a file system or a URL may not take are written as
    %XX, and so is what would lead out of the folder or meet another workload's file.
    """
    *folders, last = (_part(part) for part in workload.split("/"))
    return "/".join([MEASUREMENTS, *folders, f"{last}.parquet"])


def _part(name: str) -> str:
    """A part of a workload's name as the name of a folder."""
    # No encoded name is a lone percent sign, which so stands for no letters at all.
    encoded = quote(name, safe=_PLAIN, errors="surrogatepass") or "%"
    encoded = re.sub(r"^\.|\.(?=parquet$|$)", "%2E", encoded)
    if len(encoded) > _LONGEST:
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        encoded = f"{encoded[:_LONGEST]}-{digest[:_DIGITS]}"
    return encoded
