"""Ctrl-C while a query runs, in each of the forms in which DuckDB hands it on."""

import signal
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from dbtool.database import open_database
from dbtool.store.statements import interruptible
from tests.support.published import write_shards


def _interrupted(_: int) -> int:
    raise KeyboardInterrupt


def _interrupted_function(connection: duckdb.DuckDBPyConnection) -> None:
    connection.create_function("interrupted", _interrupted, ["INTEGER"], "INTEGER")
    connection.execute("SELECT interrupted(1)").fetchall()


def _interrupted_batches(connection: duckdb.DuckDBPyConnection) -> None:
    schema = pa.schema([("loss", pa.float32())])
    connection.register("rows", pa.RecordBatchReader.from_batches(schema, map(_interrupted, [1])))
    connection.execute("FROM rows").fetchall()


class _InterruptedTable:
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        raise KeyboardInterrupt


def _interrupted_table(connection: duckdb.DuckDBPyConnection) -> None:
    connection.register("rows", _InterruptedTable())
    connection.execute("FROM rows").fetchall()


@pytest.mark.parametrize("query", [_interrupted_function, _interrupted_batches, _interrupted_table])
def test_ctrl_c_while_python_works_for_a_query(query):
    with duckdb.connect() as connection, pytest.raises(KeyboardInterrupt), interruptible():
        query(connection)


def test_a_query_that_names_the_error_has_only_failed():
    with (
        duckdb.connect() as connection,
        pytest.raises(duckdb.BinderException, match="KeyboardInterrupt"),
        interruptible(),
    ):
        connection.execute("SELECT KeyboardInterrupt")


# What Python itself had opened at that moment is closed with its last name.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_while_releases_are_opened(tmp_path):
    folder = write_shards(tmp_path / "release")
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for milliseconds in range(5, 65, 4):
            with pytest.raises(KeyboardInterrupt):
                _open_until(folder, milliseconds / 1_000)
    finally:
        signal.signal(signal.SIGALRM, before)


def _open_until(folder: Path, seconds: float) -> None:
    """Opens releases again and again until a signal comes."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
    while True:
        open_database(folder).close()
