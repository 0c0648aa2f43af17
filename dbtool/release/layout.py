"""The files and tables of a published release folder, and the addresses of its files."""

import functools
import hashlib
import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from dbtool.core.errors import UsageError
from dbtool.core.http import check_url
from dbtool.core.index import column_types
from dbtool.core.manifest import MANIFEST, Manifest, encode_manifest
from dbtool.core.resources import schema_text

BIBTEX = "citation.bib"
CARD = "README.md"
CITATION = "CITATION.cff"
ICEBERG = "iceberg"
"""The folder of Iceberg tables, with one folder per table."""
SCRIPT = "dbtool.sql"
SHARDS = "measurements/**/*.parquet"
"""The pattern of the shards' paths, relative to the release folder."""
MEASUREMENTS_TABLE = "measurements"
MEANINGS = {
    "workloads": "a row a workload: a data set, a model and an optimizer, with the goal of one of "
    "its metrics",
    "studies": "a row a study: a workload at one batch size, and how its metaparameters were "
    "searched",
    "trials": "a row a trial of a study: its metaparameters, how it ended, and what produced it",
    MEASUREMENTS_TABLE: "a row a measurement, sorted by trial and step, a file or more a study",
}
"""The rows of each table."""
_COMMENT = re.compile(r"^COMMENT ON COLUMN (\w+)\.(\w+) IS '(.*)';$", re.MULTILINE)
# Of columns that the views leave out or have in another form.
_OTHER_MEANINGS = {
    ("workloads", "definition"): "The producer's whole definition: an object. NULL for archives.",
    ("studies", "trials"): "How many trials it has, of any status.",
    ("trials", "metaparameters"): "All metaparameters by name as they were given: an object of "
    "numbers, truths and text.",
    ("trials", "name"): "What the tool that it comes from calls it. NULL where it has no name.",
    ("trials", "source"): "Digest of the files that it was imported from. NULL where none were.",
    (
        MEASUREMENTS_TABLE,
        "other_metrics",
    ): "Metrics without a column of their own, by name: an object. NULL where a step has none.",
}
_WEB = ("https", "http")
_STORES = ("s3", "s3a", "gs", "abfs", "abfss", "hdfs", "hf")
# What begins a query or a fragment, and what would end a text in a program.
_NEVER = re.compile(r"[?#\"\\]")
_PART = r"[^?#\"\\ ']"
_ADDRESS = re.compile(
    rf"({'|'.join(_WEB)})://[^@/?#\"\\ ']+(/{_PART}*)?"
    rf"|(({'|'.join(_STORES)})://|file:///+)(?!/){_PART}+"
)


def iceberg_state(table: str) -> str:
    """Return the path of an Iceberg table's metadata file, which names the other files."""
    return f"{ICEBERG}/{table}/metadata/v1.metadata.json"


def sums(manifest: Manifest) -> str:
    """Return the text of SHA256SUMS for `sha256sum -c`, with every other file of a release."""
    hashes = {file.path: file.sha256 for file in manifest.files}
    hashes[MANIFEST] = hashlib.sha256(encode_manifest(manifest)).hexdigest()
    return "".join(f"{hashes[path]}  {path}\n" for path in sorted(hashes))


class PublishedColumn(NamedTuple):
    """A column of a table, with its type in DuckDB, and with the unit where it has one."""

    name: str
    type: str
    meaning: str


def table_path(table: str) -> str:
    """Return the path of a table's rows in the release folder; a pattern for measurements."""
    return SHARDS if table == MEASUREMENTS_TABLE else f"{table}.parquet"


@functools.cache
def published_columns() -> dict[str, tuple[PublishedColumn, ...]]:
    """Return the columns of workloads, studies, trials and measurements, by table."""
    meanings = _comments() | _OTHER_MEANINGS
    return {
        table: tuple(
            PublishedColumn(name, kind, meanings.get((table, name), ""))
            for name, kind in columns.items()
        )
        for table, columns in column_types().items()
    }


def _comments() -> dict[tuple[str, str], str]:
    """Return the meanings in schema/comments.sql of columns of views, named like the tables."""
    found = _COMMENT.findall(schema_text("comments"))
    return {(view, column): meaning.replace("''", "'") for view, column, meaning in found}


def check_base_url(text: str) -> str:
    """Return the address of a release folder, without a slash at its end, or raise a UsageError.

    Example:
        >>> check_base_url("s3://bucket/my-release/")
        's3://bucket/my-release'
    """
    if not (text.isprintable() and _ADDRESS.fullmatch(text)):
        raise UsageError(
            f"--base-url {text!r} is not an address of a folder, such as s3://bucket/my-release or "
            "https://example.org/my-release: give one without user, query, blanks or quotes, which "
            f"begins with {', '.join(f'{name}://' for name in (*_WEB, *_STORES))} or file:///"
        )
    if is_web(text):
        check_url(text)
    return text.rstrip("/")


def address_of_folder(folder: Path) -> str:
    """Return the address of a folder of this machine; a UsageError where none can be written."""
    path = str(folder.resolve())
    if _NEVER.search(path) or not path.isprintable():
        raise UsageError(
            f"the path {path!r} has a letter that no address holds: name another folder, or give "
            "the address that it will have with --base-url"
        )
    return f"file://{path}"


def is_web(base: str) -> bool:
    """Whether an address is that of a web server."""
    return base.startswith(tuple(f"{scheme}://" for scheme in _WEB))


def address_of(base: str, path: str) -> str:
    """Return the address of a file in a release folder with an address from `check_base_url`."""
    # Web servers read %2F in an address as a slash, so that percent signs become %25 there.
    return f"{base}/{quote(path) if is_web(base) else path}"
