from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dbtool.core.errors import DbtoolError
from producers.datasets.mnist.images import parse_idx
from producers.datasets.mnist.locate import read_content
from tests.support.image_files import idx_bytes

PATH = Path("some-idx3-ubyte")
ARRAYS = hnp.arrays(np.uint8, hnp.array_shapes(min_dims=1, max_dims=5, min_side=0, max_side=5))


def read_idx(path: Path) -> np.ndarray:
    return parse_idx(read_content(path), path)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("idx") / "file"


def test_known_bytes_give_the_known_array(file: Path) -> None:
    file.write_bytes(bytes.fromhex("00000802 00000002 00000003 010203 0405ff"))
    array = read_idx(file)
    assert array.tolist() == [[1, 2, 3], [4, 5, 255]]
    assert array.dtype == np.uint8
    assert not array.flags.writeable


@given(array=ARRAYS, compressed=st.booleans())
def test_any_array_comes_back(file: Path, array: np.ndarray, *, compressed: bool) -> None:
    content = idx_bytes(array)
    file.write_bytes(gzip.compress(content) if compressed else content)
    np.testing.assert_array_equal(read_idx(file), array, strict=True)


@given(content=st.binary(max_size=300))
def test_any_bytes_are_an_array_or_refused(content: bytes) -> None:
    try:
        array = parse_idx(content, PATH)
    except DbtoolError as error:
        assert str(error).startswith(str(PATH))  # noqa: PT017 (may be an array)
    else:
        assert idx_bytes(array) == content


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("00000800", "is not an IDX file of unsigned bytes: it begins with 0x00000800; replace"),
        ("00000901 00000001 05", "is not an IDX file of unsigned bytes: it begins with 0x00000901"),
        ("00000802 00000001", "is not an IDX file of unsigned bytes"),
        ("00000801 00000003 0102", r"states the shape \(3,\) and holds 2 bytes of values"),
        ("00000801 00000001 0102", r"states the shape \(1,\) and holds 2 bytes of values"),
        ("00000804" + "ffffffff" * 3 + "00000000", "is damaged: it states the shape"),
        ("1f8b0000", "is a damaged gzip file"),
    ],
)
def test_refusals_name_the_reason(file: Path, content: str, reason: str) -> None:
    file.write_bytes(bytes.fromhex(content))
    with pytest.raises(DbtoolError, match=reason) as caught:
        read_idx(file)
    assert str(file) in str(caught.value)


def test_absent_file_and_pipe_are_named(tmp_path: Path) -> None:
    with pytest.raises(DbtoolError, match="absent cannot be read: No such file"):
        read_idx(tmp_path / "absent")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DbtoolError, match="pipe cannot be read: it is not a file"):
        read_idx(tmp_path / "pipe")
