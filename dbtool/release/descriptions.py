"""The descriptions of a release: README.md for people, and croissant.json for programs.

README.md is the data set's card, with the header by which Hugging Face shows it. The format of
croissant.json is 1.0 (https://docs.mlcommons.org/croissant/docs/croissant-spec.html).
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from dbtool.core.errors import counted
from dbtool.core.index import STUDIES, TRIALS, WORKLOADS
from dbtool.core.manifest import Manifest, ReleaseFile
from dbtool.core.shards import Shard
from dbtool.release.citation import LICENCES, Citation, as_yaml, licence_url
from dbtool.release.layout import (
    BIBTEX,
    CITATION,
    ICEBERG,
    MEANINGS,
    MEASUREMENTS_TABLE,
    SCRIPT,
    PublishedColumn,
    address_of,
    iceberg_state,
    is_web,
    published_columns,
    table_path,
)
from dbtool.release.reduction import WHOLE, Reduction, reduction_of

_ASSETS = Path(__file__).parent / "assets"
_TAGS = ("deep-learning", "batch-size", "data-parallelism", "learning-curves", "parquet")
# Hugging Face names the number of rows by these.
_SIZES = ("1K", "10K", "100K", "1M", "10M", "100M", "1B", "10B", "100B", "1T")
_EXPLORER = "On a web server the page [{0}]({0}) of this folder draws what it holds.\n\n"
_DUCKDB = """\
```sql
FROM iceberg_scan('$measurements') WHERE batch_size = 64;
```"""
_PYICEBERG = """\
```python
from pyiceberg.table import StaticTable

trials = StaticTable.from_metadata("$trials")
measurements = StaticTable.from_metadata("$measurements")
measurements.scan("batch_size = 64").to_polars()
```"""
_PARQUET = "application/x-parquet"
_FILES = "measurements-files"
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


def card(
    manifest: Manifest,
    index: Mapping[str, pa.Table],
    shards: Sequence[Shard],
    *,
    page: str | None = None,
    iceberg: str | None = None,
) -> str:
    """Return the text of README.md.

    Where there are some, it shows the explorer's `page`, and the Iceberg tables with their address.
    """
    measurements = sum(file.rows or 0 for file in manifest.shards)
    licence = manifest.licence or ""
    link = f"[{licence}]({licence_url(licence)})"
    parts = {
        "title": manifest.title or manifest.release,
        "licence": link if licence in LICENCES else _cell(licence),
        "listing": "\n".join(_workloads(index)),
        "sources": "\n".join(_sources(shards)),
        "reduced": _reduced(shards),
        "explorer": _EXPLORER.format(page) if page else "",
        "iceberg": _iceberg(iceberg) if iceberg else "",
        "script": SCRIPT,
        "tables": "\n".join(_columns()),
        "cite": _cite(manifest),
        "workloads": counted(len(index[WORKLOADS]), "workload"),
        "studies": counted(len(index[STUDIES]), "study", "studies"),
        "trials": counted(len(index[TRIALS]), "trial"),
        "measurements": counted(measurements, "measurement"),
    }
    body = Template(_asset("card.md")).substitute(parts)
    return f"---\n{as_yaml(_header(manifest, measurements))}---\n\n{body}"


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _header(manifest: Manifest, measurements: int) -> dict[str, Any]:
    """Return what Hugging Face reads."""
    licence = manifest.licence or ""
    known = LICENCES.get(licence)
    # In a form such as my-license-1.0.
    own = re.sub(r"[^a-z0-9.]+", "-", licence.lower()).strip("-") or "other"
    return {
        "license": known or "other",
        **({} if known else {"license_name": own}),
        "pretty_name": manifest.title or manifest.release,
        "size_categories": [_size(measurements)],
        "tags": list(_TAGS),
        "configs": [
            {
                "config_name": table,
                **({"default": True} if table == MEASUREMENTS_TABLE else {}),
                "data_files": table_path(table),
            }
            for table in sorted(MEANINGS, key=lambda name: name != MEASUREMENTS_TABLE)
        ],
    }


def _size(rows: int) -> str:
    """Return the category of a number of rows, such as 10K<n<100K."""
    least = len(str(rows)) - len("1000")
    if least < 0:
        return f"n<{_SIZES[0]}"
    if least >= len(_SIZES) - 1:
        return f"n>{_SIZES[-1]}"
    return f"{_SIZES[least]}<n<{_SIZES[least + 1]}"


def _workloads(index: Mapping[str, pa.Table]) -> Iterator[str]:
    sizes = defaultdict(list)
    for row in index[STUDIES].select(["workload", "batch_size"]).to_pylist():
        sizes[row["workload"]].append(row["batch_size"])
    yield "| workload | metric | goal | batch sizes |\n|---|---|---:|---|"
    for row in index[WORKLOADS].select(["workload", "metric", "goal"]).to_pylist():
        held = sizes[row["workload"]]
        span = f"{held[0]:,}"
        if len(held) > 1:
            span = f"{len(held)}, from {min(held):,} to {max(held):,}"
        goal = "" if row["goal"] is None else repr(row["goal"])
        yield f"| {_cell(row['workload'])} | `{row['metric']}` | {goal} | {span} |"


def _sources(shards: Sequence[Shard]) -> Iterator[str]:
    """Yield the lines on the programs that wrote the shards."""
    yield (
        "The measurements lie in shards, each written by one run of a program. The column "
        f"`producer` of `{TRIALS}` holds what each recorded of itself, such as versions.\n"
    )
    made_by = Counter(_maker(shard.footer.producer) for shard in shards)
    for maker, count in sorted(made_by.items()):
        yield f"- {counted(count, 'shard')} {maker}"


def _maker(producer: Mapping[str, Any]) -> str:
    """Return the program that wrote a shard, with its library, device and source."""
    if "archive" in producer:
        return (
            "by the import of an archive in the form that Shallue et al. (2019) published theirs in"
        )
    named = [f"{name} {producer[name]}" for name in ("dbtool", "jax") if producer.get(name)]
    program = " with ".join(named) or (None if "source" in producer else "an unnamed program")
    parts = {"by": program, "on": producer.get("device"), "from": producer.get("source")}
    return _cell(" ".join(f"{word} {part}" for word, part in parts.items() if part))


def _reduced(shards: Sequence[Shard]) -> str:
    found = {reduction_of(shard.footer) for shard in shards} - {WHOLE}
    if not found:
        return "Nothing was left out of them."
    return (
        f"To save space, {'; in others '.join(sorted(map(_reduction, found)))}. Evaluations and "
        "the last row of each trial were kept whole."
    )


def _reduction(each: Reduction) -> str:
    if each.then_one_in is None:
        rest = " and, after that, only where the networks were evaluated"
    else:
        rest = f" and at one step in {each.then_one_in:,} after that"
    steps = "" if each.then_one_in == 1 else f" up to {each.every_loss_up_to:,}{rest}"
    return (
        f"losses of training batches were kept at every step{steps}, "
        f"with {each.loss_bits} of 23 bits of mantissa"
    )


def _iceberg(address: str) -> str:
    """Return how to read Iceberg tables; few programs but DuckDB read those on web servers."""
    tables = {name: address_of(address, iceberg_state(name)) for name in MEANINGS}
    program = Template(_DUCKDB if is_web(address) else _PYICEBERG).substitute(tables)
    reader = "DuckDB reads them" if is_web(address) else "Read them with pyiceberg"
    parts = {"folder": ICEBERG, "address": address, "reader": reader, "program": program}
    return Template(_asset("iceberg.md")).substitute(parts)


def _columns() -> Iterator[str]:
    for table, columns in published_columns().items():
        yield f"### {table}\n\n`{table_path(table)}`: {MEANINGS[table]}.\n"
        yield "| column | type | meaning |\n|---|---|---|"
        for column in columns:
            yield f"| `{column.name}` | {column.type} | {_cell(column.meaning)} |"
        yield ""


def _cite(manifest: Manifest) -> str:
    if manifest.citation is None:
        return f"`{CITATION}` says how to cite them."
    return f"Please cite (`{BIBTEX}`, `{CITATION}`):\n\n```bibtex\n{manifest.citation.strip()}\n```"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|")


def croissant(manifest: Manifest, citation: Citation, shards: Sequence[Shard]) -> str:
    """Return the text of croissant.json for a release with these shards."""
    content = {
        # The standard one, which readers expect letter by letter.
        "@context": json.loads(_asset("croissant_context.json")),
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
