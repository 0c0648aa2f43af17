"""Exported tables against the view, as other programs read them."""

from __future__ import annotations

import csv
import hashlib
import json
import math
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dbtool.export import chunks
from dbtool.export.formats import FileFormat, format_of
from dbtool.export.write import Selection, export
from dbtool.store.database import open_for_reading
from tests.dbtool.export.conftest import CNN

if TYPE_CHECKING:
    from pathlib import Path

KEYS = ["release", "workload", "batch_size", "trial_id", "step"]


def view(database: Path, order: str = "ALL") -> pl.DataFrame:
    """Every row of the view."""
    with open_for_reading(database) as connection:
        found = connection.execute(f"SELECT * FROM measurements ORDER BY {order}")
        return pl.DataFrame(found.to_arrow_table())


def exported(database: Path, out: Path, file_format: FileFormat, **chosen: Any) -> Path:
    with open_for_reading(database) as connection:
        export(connection, out, file_format, Selection(**chosen))
    return out


def read(path: Path) -> pl.DataFrame:
    return pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_ipc(path)


@pytest.mark.parametrize("name", ["replica", "produced"])
@pytest.mark.parametrize("file_format", [FileFormat.PARQUET, FileFormat.ARROW])
def test_binary_files_hold_the_view(
    name: str, file_format: FileFormat, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    database = request.getfixturevalue(name)
    found = read(exported(database, tmp_path / f"all.{file_format}", file_format))
    expected = view(database)
    assert found.schema == expected.schema
    with duckdb.connect() as connection:
        connection.register("found", found)
        again = pl.DataFrame(
            connection.execute("SELECT * FROM found ORDER BY ALL").to_arrow_table()
        )
    assert again.equals(expected)
    assert found.select(KEYS).equals(found.select(KEYS).sort(KEYS))


def test_other_programs_read_parquet(replica: Path, tmp_path: Path) -> None:
    out = exported(replica, tmp_path / "all.parquet", FileFormat.PARQUET)
    rows = view(replica).height
    assert duckdb.sql(f"SELECT count(*), sum(step) FROM '{out}'").fetchall() == [
        (rows, view(replica)["step"].sum())
    ]
    frame = pd.read_parquet(out)
    assert len(frame) == rows
    assert frame["workload"].dtype == frame["status"].dtype == "str"
    file = pq.ParquetFile(out)
    # A study's rows are apart, so that a query on it can pass over the others.
    assert file.metadata.num_row_groups == 6
    column = file.schema_arrow.names.index("batch_size")
    for group in range(6):
        statistics = file.metadata.row_group(group).column(column).statistics
        assert statistics.min == statistics.max


def test_csv(produced: Path, tmp_path: Path) -> None:
    out = exported(produced, tmp_path / "all.csv", FileFormat.CSV)
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    expected = view(produced, ", ".join(KEYS)).rows(named=True)
    assert len(rows) == len(expected) == 1 + 21 + 2
    for row, known in zip(rows, expected, strict=True):
        assert list(row) == list(known)
        others = json.loads(row.pop("other_metrics") or "null")
        kept = known.pop("other_metrics")
        assert others == (
            None
            if kept is None
            else {name: each if math.isfinite(each) else None for name, each in dict(kept).items()}
        )
        for name, value in known.items():
            text = row[name]
            assert (text == "") == (value is None), name
            if isinstance(value, float):
                # Losses of 32 bits are written with as many digits as tell them apart.
                kind = pa.float32() if name.startswith("batch") else pa.float64()
                assert pa.scalar(float(text), kind).as_py() == value, name
            elif value is not None:
                assert text == str(value)


def test_parts(replica: Path, produced: Path, tmp_path: Path) -> None:
    everything = view(replica)
    part = read(
        exported(
            replica,
            tmp_path / "part.parquet",
            FileFormat.PARQUET,
            workloads=["*/simple_cnn_base/*"],
            batch_sizes=[64],
        )
    )
    workloads = [CNN, f"solution_quality/{CNN}"]
    chosen = everything.filter(pl.col("workload").is_in(workloads), batch_size=64)
    assert part.height == chosen.height > 0
    assert part["workload"].unique().sort().to_list() == workloads
    second = read(exported(produced, tmp_path / "s.arrow", FileFormat.ARROW, release="second"))
    assert second.select("release", "trial_id", "val_average_precision").rows() == [
        ("second", 0, 0.1),
        ("second", 0, 0.2),
    ]


def test_chunks_of_any_size_give_the_same_rows(
    replica: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = read(exported(replica, tmp_path / "whole.arrow", FileFormat.ARROW))
    for rows in (1, 50):
        monkeypatch.setattr(chunks, "_ROWS_AT_ONCE", rows)
        parts = read(exported(replica, tmp_path / f"{rows}.arrow", FileFormat.ARROW))
        assert parts.equals(whole)


@pytest.mark.parametrize(
    "name", ["a.parquet", "a.csv", "a.arrow", "a.tar", "a.tar.gz", "a.tar.bz2"]
)
def test_the_same_rows_give_the_same_bytes(name: str, replica: Path, tmp_path: Path) -> None:
    digests = set()
    for folder in ("first", "second"):
        out = tmp_path / folder / name
        exported(replica, out, format_of(out))
        digests.add(hashlib.sha256(out.read_bytes()).hexdigest())
        assert [path.name for path in out.parent.iterdir()] == [name]
    assert len(digests) == 1
    if name.endswith(".gz"):
        # Neither the time nor the name of the file is in the header.
        assert out.read_bytes()[3:8] == bytes(5)


def test_an_interrupted_export_leaves_nothing(replica: Path, tmp_path: Path) -> None:
    def interrupt(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    for name in ("a.parquet", "a.tar.gz", "a.arrow", "folder"):
        chosen = FileFormat.ORIGINAL if name == "folder" else format_of(tmp_path / name)
        with open_for_reading(replica) as connection, pytest.raises(KeyboardInterrupt):
            export(connection, tmp_path / name, chosen, Selection(), interrupt)
        assert list(tmp_path.iterdir()) == []


def test_progress_is_told(replica: Path, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    with open_for_reading(replica) as connection:
        done = export(
            connection,
            tmp_path / "all.parquet",
            FileFormat.PARQUET,
            Selection(),
            lambda written, total: told.append((written, total)),
        )
    rows = view(replica).height
    assert told[-1] == (rows, rows)
    assert [written for written, _ in told] == sorted(written for written, _ in told)
    assert (done.studies, done.trials, done.measurements) == (7, 120, rows)
