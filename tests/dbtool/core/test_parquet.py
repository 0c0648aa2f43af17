"""Parquet files on which native libraries would panic, crash or run out of memory are refused."""

import io
import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dbtool.core import parquet
from dbtool.core.parquet import ParquetError, decoding, read_foreign
from dbtool.core.resources import bundled_release

LONG = "y" * 100_000
LARGEST_DAY = 2**31 - 1


def file_of(values: pa.Array, **options: Any) -> io.BytesIO:
    file = io.BytesIO()
    pq.write_table(pa.table({"x": values}), file, **options)
    return io.BytesIO(file.getvalue())


def nested(depth: int) -> pa.Array:
    values = pa.array([1])
    for _ in range(depth):
        values = pa.StructArray.from_arrays([values], names=["a"])
    return values


REFUSED = {
    "it is not a readable Parquet file": nested(400),
    "its column x has the unknown time zone 'Mars/Base'": pa.array(
        [0], pa.timestamp("us", "Mars/Base")
    ),
    "its column x.a has the unknown time zone 'Mars'": pa.StructArray.from_arrays(
        [pa.array([0], pa.timestamp("ns", "Mars"))], names=["a"]
    ),
    "its column x has the type decimal256(70, 3): cast it to numbers": pa.array(
        [1], pa.decimal256(70, 3)
    ),
    "its column x has the type decimal256(50, 0)": pa.array([[1]], pa.list_(pa.decimal256(50, 0))),
    "its column x has a date out of the years 1 to 9999": pa.array([0, LARGEST_DAY], pa.date32()),
    "its column x has a date out of the years 1 to 999": pa.array([-(2**55)], pa.timestamp("ms")),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_values_that_other_libraries_cannot_take_are_refused(reason):
    with pytest.raises(ParquetError) as caught:
        read_foreign(file_of(REFUSED[reason]))
    assert str(caught.value).startswith(reason)


@pytest.mark.parametrize("wide", [False, True])
def test_little_that_decodes_to_much_is_refused(monkeypatch, wide):
    monkeypatch.setattr(parquet, "_MOST_VALUES", 10_000)
    monkeypatch.setattr(parquet, "_MOST_TEXT", 10_000_000)
    with pytest.raises(ParquetError, match=r"it claims 10,001 values, and a table may hold 10,000"):
        read_foreign(file_of(pa.nulls(10_001, pa.int64())))
    kind = pa.large_string() if wide else pa.string()
    texts = pa.array([LONG], kind).take(pa.array(np.zeros(1_000, int)))
    file = file_of(texts, store_schema=wide)
    assert len(file.getvalue()) < len(LONG)
    with pytest.raises(ParquetError, match=r"it holds 100,000,000 bytes of text, which is more"):
        read_foreign(file)


def test_what_others_can_take_is_read():
    for values in (
        nested(50),
        pa.array([0, None], pa.timestamp("us", "+01:00")),
        pa.array([0], pa.timestamp("s", "Europe/Berlin")),
        pa.array([None], pa.date32()),
        pa.array(["a", None, "a"]),
        pa.array([[1], []]),
    ):
        table = read_foreign(file_of(values))
        assert table["x"].to_pylist() == values.to_pylist()


def test_too_little_memory_is_not_the_fault_of_a_file():
    for error in (pa.ArrowMemoryError("malloc failed"), OSError(12, "Cannot allocate memory")):
        with pytest.raises(MemoryError), decoding():
            raise error


# A thread of Arrow that still holds Python's bytes aborts a process that is exiting.
_THREADS = """
import io, os, pathlib, sys
import pyarrow.parquet as pq
from dbtool.core.parquet import read_foreign
from dbtool.core.release import read_release
from dbtool.core.shards import check_shard

def started(read):
    before = len(os.listdir("/proc/self/task"))
    read()
    return len(os.listdir("/proc/self/task")) - before

folder = pathlib.Path(sys.argv[1])
content = (folder / "trials.parquet").read_bytes()
print(started(lambda: read_release(folder)))
print(started(lambda: read_foreign(io.BytesIO(content))))
print(started(lambda: check_shard(next(folder.rglob("batch_size=*/*.parquet")))))
print(started(pq.ParquetFile(io.BytesIO(content)).read))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc lists the threads of Linux alone")
def test_python_s_bytes_are_read_without_threads_of_arrow() -> None:
    words = [sys.executable, "-c", _THREADS, str(bundled_release())]
    printed = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    *ours, by_default = map(int, printed.split())
    assert ours == [0, 0, 0]
    assert by_default > 0
