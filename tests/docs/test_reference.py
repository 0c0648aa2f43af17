"""Pages written from what queries, the schema and the commands say of themselves have all of it."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import cookbook
import duckdb
import pytest
import schema_reference
from command_pages import command_pages
from markdown_it import MarkdownIt
from typer.testing import CliRunner

import dbtool
from dbtool.cli.main import app
from dbtool.core.resources import schema_folder
from dbtool.database import Database, open_database
from dbtool.store.questions import analyses, query_text
from producers import own
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


def test_columns_are_counted_and_hold_null_where_they_say_so_alone(connection):
    columns = connection.execute(COLUMNS).fetchall()
    assert len(columns) == 110
    for view, column, comment in columns:
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


def test_a_column_without_a_comment_is_named_with_the_line_to_add():
    with duckdb.connect() as own:
        own.execute("CREATE VIEW trials AS SELECT 1 AS new_column")
        line = "COMMENT ON COLUMN trials.new_column IS 'MEANING.';"
        with pytest.raises(SystemExit, match=f"add to schema/comments.sql `{line}`"):
            schema_reference.view_section(own, "trials")


PAGE = (DOCS / "cookbook.md").read_text(encoding="utf-8")


def test_every_analysis_is_on_the_page():
    assert sorted(cookbook.NAMES) == list(analyses())
    for name, title in analyses().items():
        question, about, query = cookbook.split_comment(query_text(name))
        assert question == title
        assert about
        assert f'<a id="{name}"></a>\n\n## {title}\n\n{about}\n' in PAGE
        assert f"```sql\n{query}\n```" in PAGE


def test_no_table_of_the_page_is_empty():
    head_alone = re.compile(r"^\|[ :|-]+\|\n(?!\|)", re.MULTILINE)
    assert not head_alone.search(PAGE)


# What the commands are written with.
NOT_FOR_USERS = {"functions", "result"}


def shown(markdown: str) -> str:
    """What a reader sees of a page, without spaces and colons."""
    tokens = [part for token in MarkdownIt().parse(markdown) for part in token.children or [token]]
    return re.sub(r"[\s:]", "", "".join(token.content for token in tokens))


def test_pages_say_what_help_says():
    for page, text in command_pages().items():
        words = page.split("/")[1:]
        told = CliRunner().invoke(app, [*words, "--help"], prog_name="dbtool").output
        assert len(told) > 200
        title = " ".join(["dbtool", *words])
        assert shown(text) == re.sub(r"[\s:`]", "", title + told)


def test_the_reference_has_everything_public():
    reference = DOCS / "website" / "python.rst"
    listed = set(re.findall(r":: (?:\w+\.)*(\w+)", reference.read_text(encoding="utf-8")))
    methods = {name for name in dir(Database) if not name.startswith("_")} - NOT_FOR_USERS
    assert (methods | {*own.__all__, *dbtool.__all__} - {"__version__"}) - listed == set()
