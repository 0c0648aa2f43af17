"""Tables of the user's own in a query, beside which the sandbox stays shut."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dbtool.core.errors import DbtoolError, UsageError
from tests.support.made_up import curve, write_shard

ROWS = {"trial_id": [0, 1, 7], "cluster": ["a", None, "it's"], "hours": [0.5, 2.0, 3.25]}
FRAME = pl.DataFrame(ROWS)
JOIN = "SELECT trial_id, cluster, hours FROM trials JOIN runs USING (trial_id) ORDER BY trial_id"
JOINED = [(0, "a", 0.5), (1, None, 2.0)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of two trials."""
    folder: Path = tmp_path_factory.mktemp("two") / "release"
    trial: Any = ("COMPLETE", {}, curve([0.9, 0.5]))
    write_shard(folder, trials=[(number, *trial) for number in (0, 1)])
    return folder


@pytest.mark.parametrize(
    "given", [FRAME, FRAME.lazy(), pd.DataFrame(ROWS), pa.table(ROWS)], ids=type
)
def test_frames(db, given):
    assert db.sql(JOIN, tables={"runs": given}).rows() == JOINED


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("it's [a] *.csv", FRAME.write_csv),
        ("runs.parquet", FRAME.write_parquet),
        ("runs.jsonl", FRAME.write_ndjson),
    ],
)
def test_files(db, tmp_path, name, write):
    path = tmp_path / name
    write(path)
    for given in (path, str(path)):
        assert db.sql(JOIN, tables={"runs": given}).rows() == JOINED
    # Only its rows: the file stays out of reach, as every other.
    literal = str(path).replace("'", "''")
    with pytest.raises(DbtoolError, match="cannot read other files"):
        db.sql(f"FROM runs, read_text('{literal}')", tables={"runs": path})


def test_a_table_is_of_one_query_alone(db):
    def ask(number: int) -> None:
        tables = {"runs": {"x": [number]}, "limits": {"least": [0]}}
        for _ in range(6):
            query = "SELECT x FROM runs, limits WHERE x >= least AND x < $most"
            assert db.sql(query, tables=tables, most=9).rows() == [(number,)]

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(ask, range(4)))
    with pytest.raises(DbtoolError, match="Table with name runs does not exist"):
        db.sql("FROM runs")


def test_names_that_a_table_cannot_have(db):
    for name in ("", "1x", 'a"; DROP VIEW trials; --', "ä", "select"):
        with pytest.raises(UsageError, match="cannot name a table: take letters, digits and _"):
            db.sql("SELECT 1", tables={name: FRAME})
    for name in ("Trials", "duckdb_tables"):
        with pytest.raises(UsageError, match=f"there is a view {name} already"):
            db.sql("SELECT 1", tables={name: FRAME})


@pytest.mark.parametrize(
    ("file", "content", "sentence"),
    [
        ("none.csv", None, "cannot be read: No such file or directory"),
        ("wrong.parquet", b"no Parquet", "is not Parquet of numbers and texts"),
        ("deep.jsonl", b'{"a":' * 9_000 + b"1" + b"}" * 9_000, "it is no JSON"),
        ("nul.jsonl", b'{"a\\u0000b": 1}\n', "a column that cannot be taken: its name has a"),
        ("runs.xlsx", b"", "does not end with one of .csv, .jsonl, .parquet"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_sentence(db, tmp_path, file, content, sentence):
    path = tmp_path / file
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=sentence) as error:
        db.sql("FROM runs", tables={"runs": path})
    assert "\n" not in str(error.value)


MIXED = pd.DataFrame({"a": [1, "x"]})
NESTED = pl.DataFrame({"seeds": [[10**20]]}, schema={"seeds": pl.List(pl.Int128)})


@pytest.mark.parametrize(
    ("tables", "sentence"),
    [
        ({"runs": 3}, "the table runs is a int: give the path of a file, or a"),
        ({"runs": MIXED}, "cannot be taken: Conversion failed for column a"),
        ({"runs": pd.concat([MIXED, MIXED], axis=1)}, "cannot be taken: Duplicate column names"),
        ({"runs": pl.DataFrame({"o": [object()]})}, "cannot be taken: o holds objects of Python"),
        ({"runs": NESTED}, "the table runs has a column that cannot be taken"),
        ({"runs": pl.DataFrame({"a\0b": [1]})}, "a column that cannot be taken: its name has a"),
        ({"runs": FRAME, "Runs": FRAME}, "the table Runs is given twice"),
    ],
)
def test_what_is_no_table_is_refused(db, tables, sentence):
    with pytest.raises(UsageError, match=sentence):
        db.sql("FROM runs", tables=tables)


def test_whole_numbers_of_any_size(db, tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("seed\n99999999999999999999\n1\n")
    assert db.sql("SELECT seed FROM runs", tables={"runs": path}).rows() == [(10**20 - 1,), (1,)]
