"""The views and macros of an open database: what the cache keeps is what the statements create."""

from pathlib import Path

import duckdb
import platformdirs
import pytest

from dbtool.store.relations import make_relations
from dbtool.store.statements import IS_1
from tests.support.published import flipped

NAMES = {
    "duckdb_views()": "schema_name, view_name, sql, comment",
    "duckdb_tables()": "schema_name, table_name, sql, comment",
    "duckdb_columns()": "schema_name, table_name, column_name, data_type, comment",
    # DuckDB keeps the names of an EXCLUDE as a set.
    "duckdb_functions()": (
        "function_name, parameters, list_sort(string_split(macro_definition, ' ').list_transform("
        "lambda word: trim(word, '(),'))), comment"
    ),
}
pytestmark = pytest.mark.skipif(IS_1, reason="DuckDB 1 does not copy all that it reads")


def made() -> dict[str, list[tuple[object, ...]]]:
    """What an empty database has, whether copied from the cache or not."""
    with duckdb.connect() as connection:
        make_relations(connection, [])
        return {
            table: connection.execute(
                f"SELECT {columns} FROM {table} WHERE database_name <> 'system' ORDER BY ALL"
            ).fetchall()
            for table, columns in NAMES.items()
        }


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache's folder, which is not there yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return platformdirs.user_cache_path("dbtool") / "views"


def test_the_copy_is_what_the_statements_create(folder):
    first = made()
    assert min(map(len, first.values())) > 3
    [kept] = folder.iterdir()
    before = kept.stat()
    assert made() == first
    # Reading it may change when it was read last, and nothing else.
    after = kept.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_copy_that_is_damaged_or_old_is_made_again(folder):
    first = made()
    [kept] = folder.iterdir()
    sound = kept.read_bytes()
    for content in [
        b"",
        sound[: len(sound) // 2],
        *(flipped(sound, at) for at in range(0, len(sound), len(sound) // 4)),
    ]:
        kept.write_bytes(content)
        assert made() == first
    kept.rename(folder / "old.duckdb")
    assert made() == first
    assert [*folder.iterdir()] == [kept]
