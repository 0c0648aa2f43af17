from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbtool.core.errors import DbtoolError
from producers.datasets.imagenet.tfrecord import (
    index_records,
    masked_crc,
    parse_example,
    read_record,
)
from tests.support.image_files import crc32c, example, image_example, record

DATA = st.lists(st.binary(max_size=40), min_size=1, max_size=5)


def read_all(path: Path) -> list[bytes]:
    return [read_record(path, *entry) for entry in index_records(path).tolist()]


def test_check_value_of_the_polynomial():
    assert crc32c(b"123456789") == 0xE3069283
    # (0xE3069283 >> 15 | 0xE3069283 << 17) + 0xA282EAD8, in 32 bits.
    assert masked_crc(b"123456789") == 0xC78AB0E5


@given(parts=DATA)
def test_records_come_back(file, parts):
    file.write_bytes(b"".join(map(record, parts)))
    assert read_all(file) == parts


@given(parts=DATA, data=st.data())
def test_every_flipped_bit_is_found(file, parts, data):
    content = bytearray(b"".join(map(record, parts)))
    offset = data.draw(st.integers(0, len(content) - 1))
    content[offset] ^= 1 << data.draw(st.integers(0, 7))
    file.write_bytes(content)
    with pytest.raises(DbtoolError, match=f"^{file} is not .* or damaged: its record at byte"):
        read_all(file)


def test_a_record_that_has_shrunk_since_is_refused(file):
    file.write_bytes(record(b"shrunk since")[:-1])
    with pytest.raises(DbtoolError, match="record at byte 0 is not whole or has a wrong CRC"):
        read_record(file, 12, 12)


@given(
    content=st.binary(max_size=300),
    label=st.integers(0, 2**40),
    others=st.dictionaries(st.text(max_size=5), st.integers(0, 300), max_size=3),
)
def test_examples_come_back(content, label, others):
    features: dict[str, bytes | int] = {"image/encoded": content, "image/class/label": label}
    assert parse_example(example({**others, **features}), "x") == (content, label)


def test_examples_without_an_image_or_label_are_refused():
    with pytest.raises(DbtoolError) as caught:
        parse_example(example({"image/encoded": b"", "label": 1}), "a shard")
    assert str(caught.value) == (
        "a shard has no single image/class/label (it holds image/encoded, label); write the shards"
        " as build_imagenet_data.py of TensorFlow's models does"
    )
    with pytest.raises(DbtoolError, match=r"a shard has no single image/encoded \(it holds nothi"):
        parse_example(b"", "a shard")
    with pytest.raises(DbtoolError, match=r"has no single image/encoded"):
        parse_example(example({"image/encoded": 3, "image/class/label": 1}), "a shard")
    with pytest.raises(DbtoolError, match=r"a shard is not a tf\.train\.Example; replace the file"):
        parse_example(image_example(b"abc", 1)[:-1], "a shard")
