"""Writes croissant.json: what the files are and what their columns hold, for other programs.

The format is Croissant 1.0 (https://docs.mlcommons.org/croissant/docs/croissant-spec.html).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from dbtool.release.publish.columns import published_columns
from dbtool.release.publish.licences import licence_url
from dbtool.release.publish.parquet import described
from dbtool.store.published.layout import CROISSANT, MEASUREMENTS, TABLES, table_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dbtool.release.publish.columns import Column
    from dbtool.store.published.manifest import PublishedFile, PublishedManifest

_CONFORMS_TO = "http://mlcommons.org/croissant/1.0"
_PARQUET = "application/x-parquet"
_FILES = "measurements-files"
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_TYPES = {
    "BOOLEAN": "sc:Boolean",
    "FLOAT": "sc:Float",
    "DOUBLE": "sc:Float",
    "SMALLINT": "sc:Integer",
    "INTEGER": "sc:Integer",
    "BIGINT": "sc:Integer",
    "UBIGINT": "sc:Integer",
    "VARCHAR": "sc:Text",
    "JSON": "sc:Text",
}
KEYS = {
    "releases": ("release_id",),
    "workloads": ("workload_id",),
    "studies": ("study_id",),
    "shards": ("shard_id",),
    "trials": ("study_id", "trial_id"),
}
"""The columns that tell the rows of a table apart."""
MEANINGS = {
    "releases": "the release itself",
    "workloads": "a row a workload: data set, model and optimizer, with the metric and goal",
    "studies": "a row a study: one batch size of a workload",
    "shards": "where the trials' rows come from",
    "trials": "a row a trial: one choice of metaparameters, and what became of it",
    "improvements": "the measurements of the workload's own metric that are better than all "
    "before them in their trial, from which steps to result follow",
    MEASUREMENTS: "a row a measurement, sorted by study, trial and step, a file a workload",
}
"""What the rows of each table are."""


def write_croissant(folder: Path, manifest: PublishedManifest) -> PublishedFile:
    """Writes croissant.json.

    Args:
        folder: the release's folder.
        manifest: what is said about the release, with its Parquet files.
    """
    content = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": _CONFORMS_TO,
        "name": manifest.release,
        "description": manifest.title or f"The release {manifest.release} of training measurements",
        "license": licence_url(manifest.licence),
        **({"citeAs": manifest.citation} if manifest.citation else {}),
        "distribution": [
            *(_file_object(file) for file in manifest.files),
            {
                "@type": "cr:FileSet",
                "@id": _FILES,
                "name": _FILES,
                "description": MEANINGS[MEASUREMENTS],
                "encodingFormat": _PARQUET,
                "includes": [f"{MEASUREMENTS}/*.parquet", f"{MEASUREMENTS}/**/*.parquet"],
            },
        ],
        "recordSet": [_record_set(table) for table in (*TABLES, MEASUREMENTS)],
    }
    path = folder / CROISSANT
    path.write_bytes((json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())
    return described(path, CROISSANT)


def _file_object(file: PublishedFile) -> dict[str, Any]:
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


def _record_set(table: str) -> dict[str, Any]:
    """What the rows of a table are."""
    columns = published_columns()[table]
    maps = [column.name for column in columns if column.type not in _TYPES]
    besides = f" (besides {', '.join(maps)}: a map, for which Croissant has no type)"
    keys = [{"@id": f"{table}/{name}"} for name in KEYS.get(table, ())]
    return {
        "@type": "cr:RecordSet",
        "@id": table,
        "name": table,
        "description": MEANINGS[table] + (besides if maps else ""),
        **({"key": keys} if keys else {}),
        "field": list(_fields(table, columns)),
    }


def _fields(table: str, columns: tuple[Column, ...]) -> Iterator[dict[str, Any]]:
    """The columns of a table that have a type in Croissant."""
    if table == MEASUREMENTS:
        source = {"fileSet": {"@id": _FILES}}
    else:
        source = {"fileObject": {"@id": table_path(table)}}
    for column in columns:
        if column.type in _TYPES:
            yield {
                "@type": "cr:Field",
                "@id": f"{table}/{column.name}",
                "name": column.name,
                **({"description": column.meaning} if column.meaning else {}),
                "dataType": _TYPES[column.type],
                "source": {**source, "extract": {"column": column.name}},
            }
