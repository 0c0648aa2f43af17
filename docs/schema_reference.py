"""Writes docs/schema.md: what every view, column and macro means, from what is in schema/.

Run `make docs`, or `python docs/schema_reference.py docs/schema.md`. The meanings are the comments
in schema/comments.sql, and those in schema/macros.toml and schema/shard.toml.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from dbtool.resources import schema_folder
from dbtool.store.contract import STATUSES, shard_format
from dbtool.store.database import open_for_reading, open_for_writing, schema_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import duckdb

VIEWS = ("releases", "workloads", "studies", "trials", "measurements")
MACROS = (
    "steps_to_result", "steps_to_result_by", "best_measurements", "best_measurements_by",
    "trial_outcomes", "first_trials", "searched_trials", "asked_studies", "strict_goal",
    "stopped_at_goal",
    "metric_values", "improving_values", "first_past_goal",
)  # fmt: skip
# Those that take the name of a common table expression.
TAKEN = """WITH taken AS (
    SELECT 1::SMALLINT AS study_id, 0::INTEGER AS trial_id, '' AS metric, 0::DOUBLE AS goal
)
"""
_COMMENT = re.compile(
    r"(?P<meaning>.+?\.)(?: Unit: (?P<unit>[^.]+)\.)?(?: NULL (?P<null>[^.]+)\.)?", re.DOTALL
)
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
    with tempfile.TemporaryDirectory() as folder:
        open_for_writing(Path(folder, "db")).close()
        with open_for_reading(Path(folder, "db")) as connection:
            text = document(connection)
    arguments.document.write_text(text, encoding="utf-8", newline="")


def document(connection: duckdb.DuckDBPyConnection) -> str:
    """The document, from any database of this schema."""
    template = Template(_TEMPLATE.read_text(encoding="utf-8"))
    return template.substitute(
        version=schema_version(),
        format=shard_format(),
        views="\n".join(_view(connection, name) for name in VIEWS),
        macros="\n".join(_macro(connection, name) for name in MACROS),
        shards="\n".join(_shard()),
    )


def read_comment(comment: str) -> Meaning:
    """What a column's comment says.

    Raises:
        ValueError: it is none of the form that schema/comments.sql states.
    """
    found = _COMMENT.fullmatch(comment)
    if found is None:
        raise ValueError(f"{comment!r} is no meaning with a unit and where it is NULL")
    return Meaning(found["meaning"], found["unit"] or "", found["null"] or "")


def macro_call(name: str, parameters: Sequence[str], *, table: bool) -> str:
    """A query that calls a macro with values that say nothing, for the columns that it returns."""
    given = ", ".join("'taken'" if each == "taken" else "NULL" for each in parameters)
    if not table:
        return f"SELECT {name}({given}) AS value"
    return f"{TAKEN}SELECT * FROM {name}({given})"  # noqa: S608 (names are ours)


def _view(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    [(about,)] = connection.execute(
        "SELECT comment FROM duckdb_views() WHERE view_name = ?", [name]
    ).fetchall()
    columns = connection.execute(
        "SELECT column_name, data_type, comment FROM duckdb_columns() "
        "WHERE schema_name = 'main' AND NOT internal AND table_name = ? ORDER BY column_index",
        [name],
    ).fetchall()
    rows = []
    for column, kind, comment in columns:
        meaning = read_comment(comment)
        rows.append((f"`{column}`", f"`{kind}`", meaning.text, meaning.unit, meaning.null))
    table = _table(("column", "type", "meaning", "unit", "NULL"), rows)
    return f"### {name}\n\n{about}\n\n{table}"


def _macro(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    [(kind, parameters, about)] = connection.execute(
        "SELECT function_type, parameters, comment FROM duckdb_functions() "
        "WHERE function_name = ? AND NOT internal",
        [name],
    ).fetchall()
    means = tomllib.loads((schema_folder() / "macros.toml").read_text(encoding="utf-8"))
    given = _table(
        ("argument", "meaning"),
        [(f"`{argument}`", means["argument"][argument]) for argument in parameters],
    )
    text = f"### {name}\n\n`{name}({', '.join(parameters)})`\n\n{about}\n\n{given}"
    if kind != "table_macro":
        return text
    call = macro_call(name, parameters, table=True)
    found = connection.execute(f"DESCRIBE {call}").fetchall()
    rows = [(f"`{each[0]}`", f"`{each[1]}`", means["result"][each[0]]) for each in found]
    return f"{text}\n{_table(('returns', 'type', 'meaning'), rows)}"


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
            ("optional" if column.get("optional") else "") if column["null"] else "never null",
        )
        for column in contract["column"]
    ]
    yield _table(("column", "type", "meaning", "unit", ""), rows)
    yield "The file's metadata holds, under these keys, text:\n"
    yield _keys(contract["metadata"])
    yield "A workload definition has these keys, and may have more:\n"
    yield _keys(contract["definition"] | contract["optional_definition"])
    yield f"A trial has these keys; its status is {', '.join(STATUSES[:-1])} or {STATUSES[-1]}:\n"
    yield _keys(contract["trial"])
    yield "Producers of this project write these names into `other_metrics`:\n"
    named = contract["other_metrics"].items()
    metrics = [(f"`{name}`", metric["meaning"], metric["unit"]) for name, metric in named]
    yield _table(("metric", "meaning", "unit"), metrics)


def _keys(meanings: dict[str, str]) -> str:
    return _table(("key", "value"), [(f"`{key}`", value) for key, value in meanings.items()])


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown, with a blank line after it."""
    lines = [head, ["---"] * len(head), *rows]
    cells = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


if __name__ == "__main__":
    main()
