"""Writes README.md: the dataset card, with the header by which Hugging Face shows the tables."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from dbtool.release.publish.columns import published_columns
from dbtool.release.publish.croissant import MEANINGS
from dbtool.release.publish.licences import hugging_face_licence, is_spdx, licence_url
from dbtool.release.publish.parquet import described
from dbtool.store.published.layout import (
    BIBTEX,
    CARD,
    CITATION,
    MEASUREMENTS,
    TABLES,
    measurements_path,
    table_path,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dbtool.release.publish.rows import Tables
    from dbtool.store.published.manifest import PublishedFile, PublishedManifest

_TEMPLATE = Path(__file__).parent / "assets" / "card.md"
_TAGS = ("deep-learning", "batch-size", "data-parallelism", "learning-curves", "parquet")
# Hugging Face's words for how many rows there are: the most, and the word.
_SIZES = (
    (10**3, "n<1K"),
    (10**4, "1K<n<10K"),
    (10**5, "10K<n<100K"),
    (10**6, "100K<n<1M"),
    (10**7, "1M<n<10M"),
    (10**8, "10M<n<100M"),
    (10**9, "100M<n<1B"),
    (10**10, "1B<n<10B"),
    (10**11, "10B<n<100B"),
    (10**12, "100B<n<1T"),
)
_MOST_ROWS = "n>1T"


def write_card(folder: Path, manifest: PublishedManifest, tables: Tables) -> PublishedFile:
    """Writes README.md.

    Args:
        folder: the release's folder.
        manifest: what is said about the release, with its Parquet files.
        tables: the workloads, studies and shards.
    """
    parts = {
        "title": manifest.title or manifest.release,
        "licence": _licence(manifest.licence),
        "listing": "\n".join(_workloads(tables)),
        "sources": _sources(tables),
        "reduced": _reduced(manifest),
        "example": measurements_path(tables.workloads["workload"][0].as_py()),
        "tables": "\n".join(_columns()),
        "cite": _cite(manifest),
        **{
            name: _counted(manifest.rows(name), name.removesuffix("s"))
            for name in ("workloads", "trials", MEASUREMENTS)
        },
        "studies": _counted(manifest.rows("studies"), "study", "studies"),
    }
    body = Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(parts)
    header = "\n".join(_header(manifest))
    (folder / CARD).write_bytes(f"---\n{header}\n---\n\n{body}".encode())
    return described(folder / CARD, CARD)


def _header(manifest: PublishedManifest) -> Iterator[str]:
    """The lines of YAML that Hugging Face reads. JSON's strings are YAML's too."""
    licence = hugging_face_licence(manifest.licence)
    yield f"license: {licence or 'other'}"
    if licence is None:
        yield f"license_name: {_text(manifest.licence)}"
    yield f"pretty_name: {_text(manifest.title or manifest.release)}"
    rows = manifest.rows(MEASUREMENTS)
    yield "size_categories:"
    yield f"- {next((word for most, word in _SIZES if rows < most), _MOST_ROWS)}"
    yield "tags:"
    yield from (f"- {tag}" for tag in _TAGS)
    yield "configs:"
    yield f"- config_name: {MEASUREMENTS}"
    yield "  default: true"
    yield f'  data_files: "{MEASUREMENTS}/**/*.parquet"'
    for table in TABLES:
        yield f"- config_name: {table}"
        yield f"  data_files: {table_path(table)}"


def _workloads(tables: Tables) -> Iterator[str]:
    """A table of the workloads."""
    sizes: dict[str, list[int]] = {}
    for study in tables.in_order:
        sizes.setdefault(study.workload, []).append(study.batch_size)
    yield "| workload | metric | goal | batch sizes |"
    yield "|---|---|---:|---|"
    for row in tables.workloads.select(["workload", "metric", "goal"]).to_pylist():
        held = sizes.get(row["workload"], [])
        span = f"{len(held)}, from {min(held):,} to {max(held):,}" if held else "none"
        goal = "" if row["goal"] is None else repr(row["goal"])
        yield f"| {_cell(row['workload'])} | `{row['metric']}` | {goal} | {span} |"


def _sources(tables: Tables) -> str:
    """Which code made the rows, as the shards say."""
    producers = [json.loads(text) for text in tables.shards["producer"].to_pylist()]
    if not producers:
        return (
            "Imported from an archive in the form of the measurements that were published with "
            "Shallue et al. (2019), Measuring the Effects of Data Parallelism on Neural Network "
            "Training."
        )
    made_by = Counter(_maker(producer) for producer in producers)
    lines = [f"- {_counted(count, 'shard')} by {maker}" for maker, count in sorted(made_by.items())]
    intro = (
        "The measurements were written in shards, each by one run of a program. "
        "`tables/shards.parquet` holds of each the versions, the device and the git revision."
    )
    return "\n".join([intro, "", *lines])


def _maker(producer: Mapping[str, Any]) -> str:
    """The program that wrote a shard, its library and the device."""
    named = [f"{name} {producer[name]}" for name in ("dbtool", "jax") if producer.get(name)]
    made = " with ".join(named) or "a program that does not give its name"
    device = producer.get("device")
    return f"{made} on {device}" if device else made


def _reduced(manifest: PublishedManifest) -> str:
    """What was left out."""
    if not manifest.reduced:
        return "Nothing was left out of them."
    sentences = []
    for each in manifest.reduced:
        losses = (
            f"losses of training batches were kept at every step up to {each['every_loss_up_to']:,}"
        )
        one_in = each["then_one_in"]
        if one_in == 1:
            losses = "losses of training batches were kept at every step"
        elif one_in is None:
            losses += " and, after that, only where the networks were evaluated"
        else:
            losses += f" and at one step in {one_in:,} after that"
        sentences.append(f"{losses}, with {each['loss_bits']} of 23 bits of mantissa")
    return (
        f"To save space, {'; in others '.join(sentences)}. Evaluations and the last row of each "
        "trial were kept whole."
    )


def _columns() -> Iterator[str]:
    """A list of the columns of each table."""
    for table, columns in published_columns().items():
        place = f"`{MEASUREMENTS}/`" if table == MEASUREMENTS else f"`{table_path(table)}`"
        yield f"### {table}"
        yield ""
        yield f"{place}: {MEANINGS[table]}."
        yield ""
        yield "| column | type | meaning |"
        yield "|---|---|---|"
        for column in columns:
            yield f"| `{column.name}` | {column.type} | {_cell(column.meaning)} |"
        yield ""


def _cite(manifest: PublishedManifest) -> str:
    if manifest.citation is None:
        return f"`{CITATION}` says how to cite them."
    return f"Please cite (`{BIBTEX}`, `{CITATION}`):\n\n```bibtex\n{manifest.citation.strip()}\n```"


def _licence(licence: str) -> str:
    return f"[{licence}]({licence_url(licence)})" if is_spdx(licence) else _cell(licence)


def _counted(count: int, noun: str, nouns: str | None = None) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {nouns or noun + 's'}"


def _cell(text: str) -> str:
    """Text as a cell of a table."""
    return " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|")


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
