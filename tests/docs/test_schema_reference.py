"""Every view, column and macro says what it means, in DuckDB and in docs/schema.md."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
import schema_reference

from dbtool.core.resources import schema_folder
from dbtool.database import open_database
from tests.support.made_up import MadeTrial, curve, write_shard

DOCS = Path(__file__).parents[2] / "docs"


COLUMNS = """
SELECT table_name, column_name, comment
FROM duckdb_columns()
WHERE schema_name = 'main' AND NOT internal
"""


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """A release with everything that shards must hold, and nothing else."""
    folder = tmp_path_factory.mktemp("schema")
    trials: list[MadeTrial] = [(0, "COMPLETE", {}, curve([0.9, 0.2], batch_losses=False))]
    write_shard(folder, trials=trials, goal=None, seed=None)
    with open_database(folder) as db, db.cursor() as cursor:
        yield cursor


def test_every_view_is_in_the_reference(connection):
    views = connection.execute(
        "SELECT view_name, comment FROM duckdb_views() WHERE schema_name = 'main' AND NOT internal"
    )
    found = dict(views.fetchall())
    assert sorted(found) == sorted(schema_reference.VIEWS)
    assert all(comment for comment in found.values())


def test_every_column_has_a_meaning(connection):
    columns = connection.execute(COLUMNS).fetchall()
    assert len(columns) == 110
    without = [f"{view}.{column}" for view, column, comment in columns if not comment]
    assert without == [], "add a line for each to schema/comments.sql, and run `make docs`"
    for _, _, comment in columns:
        schema_reference.read_comment(comment)


def test_a_comment_is_a_meaning_a_unit_and_where_it_is_null():
    read = schema_reference.read_comment
    assert read("Time. Unit: s. NULL at first.") == schema_reference.Meaning(
        "Time.", "s", "at first"
    )
    assert read("A name, such as a.b. NULL for most.").null == "for most"
    assert read("Sums NULL and others.") == schema_reference.Meaning(
        "Sums NULL and others.", "", ""
    )
    for wrong in ("", "No stop", "Time. Unit: s", "Time. NULL here"):
        with pytest.raises(ValueError, match="is not, as others in"):
            read(wrong)


def test_a_column_without_a_comment_is_named_with_the_line_to_add():
    with duckdb.connect() as own:
        own.execute("CREATE VIEW trials AS SELECT 1 AS new_column")
        line = "COMMENT ON COLUMN trials.new_column IS 'MEANING.';"
        with pytest.raises(SystemExit, match=f"add to schema/comments.sql `{line}`"):
            schema_reference.view_section(own, "trials")


def test_columns_that_say_nothing_of_null_hold_none(connection):
    for view, column, comment in connection.execute(COLUMNS).fetchall():
        if not schema_reference.read_comment(comment).null:
            [(nulls,)] = connection.execute(
                f'SELECT count(*) FROM {view} WHERE "{column}" IS NULL'
            ).fetchall()
            assert nulls == 0, f"{view}.{column}"


def test_units_are_those_of_the_shards(connection):
    contract = tomllib.loads((schema_folder() / "shard.toml").read_text(encoding="utf-8"))
    comments = {
        column: schema_reference.read_comment(comment)
        for view, column, comment in connection.execute(COLUMNS).fetchall()
        if view == "measurements"
    }
    for column in contract["column"]:
        assert comments[column["name"]].unit == column["unit"]


def test_every_macro_has_a_comment_and_is_in_the_reference():
    text = (schema_folder() / "macros.sql").read_text(encoding="utf-8")
    named = re.findall(r"^CREATE MACRO (\w+)\(", text, re.MULTILINE)
    described = [each.split()[1] for each in schema_reference.macros()]
    assert described == named


def test_the_page_is_what_make_docs_writes():
    assert schema_reference.document() == (DOCS / "schema.md").read_text(encoding="utf-8")
