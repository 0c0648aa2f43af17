"""Some row groups of a Parquet file pass for a file of their own."""

from __future__ import annotations

import io
import struct

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dbtool.store.remote.footers import END_BYTES, split_footer

ROWS = 5


def content(groups: int) -> bytes:
    """A file with the numbers from 0 on, some of them missing, so many row groups of five rows."""
    numbers = [None if number % 7 == 3 else number for number in range(ROWS * groups)]
    table = pa.table({"number": numbers, "map": pa.array([[("a", 1.5)]] * len(numbers), MAP)})
    file = io.BytesIO()
    pq.write_table(table, file, row_group_size=ROWS, write_page_checksum=True)
    return file.getvalue()


MAP = pa.map_(pa.string(), pa.float64())


@settings(deadline=None)
@given(st.integers(1, 40), st.data())
def test_row_groups_are_a_file(groups: int, data: st.DataObject) -> None:
    whole = content(groups)
    length = struct.unpack("<I", whole[-END_BYTES:-4])[0]
    border = len(whole) - END_BYTES - length
    footer = split_footer(whole[border:-END_BYTES])
    assert [group.rows for group in footer.row_groups] == [ROWS] * groups
    assert whole[:border] + footer.of(footer.row_groups) == whole
    first = data.draw(st.integers(0, groups - 1))
    last = data.draw(st.integers(first, groups))
    part = whole[:border] + footer.of(footer.row_groups[first:last])
    found = pq.read_table(io.BytesIO(part), page_checksum_verification=True)
    expected = pq.read_table(io.BytesIO(whole)).slice(ROWS * first, ROWS * (last - first))
    assert found.equals(expected)


@given(st.binary(max_size=60))
def test_what_is_no_footer_is_refused(noise: bytes) -> None:
    """Or read as some, but neither fails in any other way nor takes for ever."""
    try:
        split_footer(noise)
    except ValueError:
        return


def test_an_empty_footer_is_refused() -> None:
    with pytest.raises(ValueError, match="not the footer"):
        split_footer(b"\0")
