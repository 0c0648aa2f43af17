"""Writes croissant.json: what the files are and what their columns hold, for other programs.

The format is Croissant 1.0 (https://docs.mlcommons.org/croissant/docs/croissant-spec.html).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from dbtool.release.citation import licence_url
from dbtool.release.layout import (
    MEANINGS,
    MEASUREMENTS_TABLE,
    PublishedColumn,
    published_columns,
    table_path,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dbtool.core.manifest import Manifest, ReleaseFile
    from dbtool.core.shards import Shard
    from dbtool.release.citation import Citation

_PARQUET = "application/x-parquet"
_FILES = "measurements-files"
_CONTEXT = Path(__file__).parent / "assets" / "croissant_context.json"
"""The standard one, which readers expect letter by letter."""
_TYPES = {
    "BOOLEAN": "sc:Boolean",
    "FLOAT": "sc:Float",
    "DOUBLE": "sc:Float",
    "INTEGER": "sc:Integer",
    "BIGINT": "sc:Integer",
    "VARCHAR": "sc:Text",
}
_KEYS = {
    "workloads": ("workload",),
    "studies": ("workload", "batch_size"),
    "trials": ("workload", "batch_size", "trial_id"),
    MEASUREMENTS_TABLE: (),
}
"""The columns that tell the rows of a table apart."""


def croissant(manifest: Manifest, citation: Citation, shards: Sequence[Shard]) -> str:
    """Return the text of croissant.json for a release with these shards."""
    content = {
        "@context": json.loads(_CONTEXT.read_text(encoding="utf-8")),
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": manifest.release,
        "description": manifest.title or f"The release {manifest.release} of training measurements",
        "license": licence_url(manifest.licence or ""),
        "citeAs": citation.text,
        "version": citation.version,
        **({"datePublished": citation.date} if citation.date else {}),
        **({"url": citation.url} if citation.url else {}),
        "distribution": [
            *(_file_object(file) for file in manifest.files),
            {
                "@type": "cr:FileSet",
                "@id": _FILES,
                "name": _FILES,
                "description": MEANINGS[MEASUREMENTS_TABLE],
                "encodingFormat": _PARQUET,
                "includes": table_path(MEASUREMENTS_TABLE),
            },
        ],
        "recordSet": [
            _record_set(table, columns)
            for table, columns in (published_columns() | {"trials": _trials(shards)}).items()
        ],
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _trials(shards: Sequence[Shard]) -> tuple[PublishedColumn, ...]:
    """Return the columns of trials, with the names of this release's metaparameters.

    Those without a column of their own stay text: a field of Croissant reads no number from JSON
    within a column, which mlcroissant would answer with null.
    """
    trials = (trial for shard in shards for trial in shard.footer.trials)
    names = ", ".join(sorted({name for trial in trials for name in trial.metaparameters}))
    own = {"metaparameters": f" Of this release: {names}."} if names else {}
    return tuple(
        each._replace(meaning=each.meaning + own.get(each.name, ""))
        for each in published_columns()["trials"]
    )


def _file_object(file: ReleaseFile) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        # Readers take no id with a letter that is written as %XX.
        "@id": file.path if "%" not in file.path else f"files/{file.sha256}",
        "name": file.path,
        "contentSize": f"{file.bytes} B",
        "contentUrl": quote(file.path),
        "encodingFormat": _PARQUET,
        "sha256": file.sha256,
    }


def _record_set(table: str, columns: tuple[PublishedColumn, ...]) -> dict[str, Any]:
    keys = [{"@id": f"{table}/{name}"} for name in _KEYS[table]]
    return {
        "@type": "cr:RecordSet",
        "@id": table,
        "name": table,
        "description": MEANINGS[table],
        **({"key": keys} if keys else {}),
        "field": list(_fields(table, columns)),
    }


def _fields(table: str, columns: tuple[PublishedColumn, ...]) -> Iterator[dict[str, Any]]:
    is_set = table == MEASUREMENTS_TABLE
    files = {"fileSet": {"@id": _FILES}} if is_set else {"fileObject": {"@id": table_path(table)}}
    for column in columns:
        yield {
            "@type": "cr:Field",
            "@id": f"{table}/{column.name}",
            "name": column.name,
            **({"description": column.meaning} if column.meaning else {}),
            "dataType": _TYPES[column.type],
            "source": {**files, "extract": {"column": column.name}},
        }
