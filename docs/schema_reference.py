"""Writes docs/schema.md: what every view, column and macro means, from what is in schema/.

Run `make docs`, or `python docs/schema_reference.py docs/schema.md`. The meanings are the comments
in schema/comments.sql and macros.sql, and those in schema/shard.toml.
"""

from __future__ import annotations

import argparse
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import duckdb

from dbtool.core.contract import SHARD_FORMAT
from dbtool.core.resources import schema_folder, schema_version
from dbtool.store.relations import make_relations

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

VIEWS = (
    "releases",
    "workloads",
    "studies",
    "trials",
    "measurements",
    "evaluations",
    "figure_curves",
)
_COMMENT = re.compile(
    r"(?P<meaning>.+?\.)(?: Unit: (?P<unit>[^.]+)\.)?(?: NULL (?P<null>[^.]+)\.)?", re.DOTALL
)
_MACRO = re.compile(r"(?P<about>(?:^-- .*\n)+)CREATE MACRO (?P<call>\w+\([^)]*\)) AS", re.MULTILINE)
_TEMPLATE = Path(__file__).parent / "templates" / "schema.md"


@dataclass(frozen=True)
class Meaning:
    """What a comment says.

    Attributes:
        text: what it is.
        unit: empty where it has none.
        null: where it is NULL; empty where it never is.
    """

    text: str
    unit: str
    null: str


def main() -> None:
    """Writes the document that is named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("document", type=Path)
    arguments = parser.parse_args()
    arguments.document.write_text(document(), encoding="utf-8", newline="")


def document() -> str:
    """The document."""
    with duckdb.connect() as connection:
        make_relations(connection, [])
        views = "\n".join(view_section(connection, name) for name in VIEWS)
    return Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(
        version=schema_version(),
        format=SHARD_FORMAT,
        views=views,
        macros="\n".join(macros()),
        shards="\n".join(_shard()),
    )


def read_comment(comment: str) -> Meaning:
    """What a column's comment says.

    Raises:
        ValueError: it is none of the form that schema/comments.sql states.
    """
    found = _COMMENT.fullmatch(comment)
    if found is None:
        raise ValueError(
            f"{comment!r} is not, as others in schema/comments.sql, a meaning with, where it has "
            "them, `Unit: UNIT.` and `NULL WHERE.` after it"
        )
    return Meaning(found["meaning"], found["unit"] or "", found["null"] or "")


def macros() -> Iterable[str]:
    """The macros of schema/macros.sql with the comments above them."""
    text = (schema_folder() / "macros.sql").read_text(encoding="utf-8")
    for found in _MACRO.finditer(text):
        call = " ".join(found["call"].split()).replace("( ", "(").replace(" )", ")")
        about = " ".join(line.removeprefix("-- ") for line in found["about"].splitlines())
        yield f"### {call.partition('(')[0]}\n\n`{call}`\n\n{about}\n"


def view_section(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    """A view's section: its columns with what their comments say."""
    [(about,)] = connection.execute(
        "SELECT comment FROM duckdb_views() WHERE schema_name = 'main' AND view_name = ?", [name]
    ).fetchall()
    columns = connection.execute(
        "SELECT column_name, data_type, comment FROM duckdb_columns() "
        "WHERE schema_name = 'main' AND NOT internal AND table_name = ? ORDER BY column_index",
        [name],
    ).fetchall()
    rows = []
    for column, kind, comment in columns:
        try:
            meaning = read_comment(comment or "")
        except ValueError as error:
            line = f"COMMENT ON COLUMN {name}.{column} IS 'MEANING.';"
            raise SystemExit(
                f"the comment of {name}.{column}: {error}; add to schema/comments.sql `{line}`"
            ) from error
        rows.append((f"`{column}`", f"`{kind}`", meaning.text, meaning.unit, meaning.null))
    table = _table(("column", "type", "meaning", "unit", "NULL"), rows)
    return f"### {name}\n\n{about}\n\n{table}"


def _shard() -> Iterable[str]:
    """The shard contract as tables."""
    contract: dict[str, Any] = tomllib.loads(
        (schema_folder() / "shard.toml").read_text(encoding="utf-8")
    )
    rows = [
        (
            f"`{column['name']}`",
            f"`{column['type']}`",
            column["meaning"],
            column["unit"],
            "" if column["null"] else "never null",
        )
        for column in contract["column"]
    ]
    yield _table(("column", "type", "meaning", "unit", ""), rows)
    yield "Producers of this project write these names into `other_metrics`:\n"
    named = contract["other_metrics"].items()
    metrics = [(f"`{name}`", metric["meaning"], metric["unit"]) for name, metric in named]
    yield _table(("metric", "meaning", "unit"), metrics)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown, with a blank line after it."""
    lines = [head, ["---"] * len(head), *rows]
    cells = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


if __name__ == "__main__":
    main()
