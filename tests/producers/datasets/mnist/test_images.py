import gzip
import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dbtool.core.errors import DbtoolError
from producers.datasets.forms import (
    GREY_28,
    STANDARDISED_FASHION_MNIST,
    STANDARDISED_MNIST,
)
from producers.datasets.mnist.images import load_source, parse_idx
from producers.datasets.mnist.locate import SOURCES, read_content
from producers.datasets.registry import load_dataset
from producers.datasets.split import Dataset, HeldOut, Request, Split
from tests.support.image_files import SmallDataset, idx_bytes, make_small, numbered_images

small = pytest.fixture(numbered_images)


def load(small: SmallDataset, folder: Path, **wanted: Any) -> Dataset:
    """The known small data set, of whose examples a quarter is held out unless others are."""
    known: dict[str, Any] = {"held_out": HeldOut(examples=4), "datasets_dir": small.write(folder)}
    return load_source(small.source, Request("small", GREY_28, **known | wanted))


def numbers(split: Any) -> list[int]:
    """The numbers of a small data set's images, which all their pixels show."""
    assert np.all(split.inputs == split.inputs[:, :1, :1])
    return [int(number) for number in split.inputs[:, 0, 0]]


def test_small_data_set_is_split_whole(small, tmp_path):
    data = load(small, tmp_path)
    train, validation = numbers(data.train), numbers(data.validation)
    assert (len(train), len(validation)) == (12, 4)
    assert sorted(train + validation) == list(range(16))
    assert train + validation != list(range(16))
    assert numbers(data.test) == [100, 101, 102, 103, 104]
    for split in (data.train, data.validation, data.test):
        assert isinstance(split, Split)
        assert split.targets.tolist() == [number % 10 for number in numbers(split)]
        assert split.inputs.dtype == split.targets.dtype == np.uint8
    assert data.file_hashes == {file.name: file.md5 for file in small.source.files}
    assert data.form == GREY_28


SMALL_SETS = {
    "labels out of range": ((16, 28, 28), np.full(16, 10), "holds the label 10, outside 0 to 9"),
    "counts differ": ((16, 28, 28), np.zeros(15), r"and .* one \(15,\), not images and a label"),
    "another number": ((15, 28, 28), np.zeros(15), "holds 15 examples, not 16"),
    "flat images": ((16, 784), np.zeros(16), r"holds an array \(16, 784\) and .* take both files"),
}


@pytest.mark.parametrize(("shape", "labels", "reason"), SMALL_SETS.values(), ids=SMALL_SETS)
def test_files_that_do_not_fit_are_refused(tmp_path, shape, labels, reason):
    odd = make_small(np.zeros(shape), labels, np.zeros((5, 28, 28)), np.zeros(5))
    with pytest.raises(DbtoolError, match=reason):
        load(odd, tmp_path)


@pytest.mark.parametrize(("order", "first"), [("first", 0), ("last", 14)])
def test_replacement_holds_out_the_same_share(small, tmp_path, order, first):
    held_out = HeldOut(order, 6_000)
    data = load_dataset("mnist", form=GREY_28, folder=small.write(tmp_path), held_out=held_out)
    # A tenth of 16 examples is 1.6.
    assert numbers(data.validation) == [first, first + 1]
    assert len(data.train) == 14


def test_compressed_replacement_of_fewer_classes(tmp_path):
    labels = np.arange(24) % 3
    odd = make_small(np.zeros((24, 14, 14)), labels, np.full((6, 14, 14), 9), labels[:6])
    for name, content in odd.compressed.items():
        (tmp_path / f"{name}.gz").write_bytes(content)
    data = load_dataset("mnist", form=GREY_28, folder=tmp_path, train_examples=20)
    assert data.form == replace(GREY_28, classes=3)
    assert (len(data.train), len(data.validation)) == (20, 2)
    assert isinstance(data.test, Split)
    np.testing.assert_array_equal(data.test.inputs, np.full((6, 28, 28), 9))


def test_small_replacements_are_refused(tmp_path):
    one = make_small(*[np.zeros((1, 28, 28)), np.zeros(1)] * 2)
    with pytest.raises(DbtoolError, match=r"at least two training examples, .* there are 1"):
        load_dataset("mnist", form=GREY_28, folder=one.write(tmp_path))


# How often each label occurs in the official training and test examples.
OFFICIAL_LABELS = {
    "mnist": (
        [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949],
        [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009],
    ),
    "fashion_mnist": ([6_000] * 10, [1_000] * 10),
}
# Other digests would make every recorded measurement one of another data set.
VALIDATION_SHA256 = {
    "mnist": "421138b81dbf54c70dc4b6a6d62c9582208ec24c778aad5e22e0fd4625ebf46e",
    "fashion_mnist": "c1d23164e5b583fc5ca10df4d8960b4e4ef812d18458bc2bd13c05b5fab0337a",
}


@pytest.mark.parametrize("name", SOURCES)
def test_official_data_sets_are_whole_and_split_as_ever(official_images, name):
    data: Any = load_dataset(name, form=GREY_28, datasets_dir=official_images)
    training, test = OFFICIAL_LABELS[name]
    held_out = np.bincount(data.validation.targets, minlength=10)
    assert (np.bincount(data.train.targets) + held_out).tolist() == training
    assert np.bincount(data.test.targets).tolist() == test
    assert data.train.inputs.shape == (55_000, 28, 28)
    assert data.validation.inputs.shape == (5_000, 28, 28)
    labels = data.validation.targets
    assert hashlib.sha256(labels.tobytes()).hexdigest() == VALIDATION_SHA256[name]
    assert data.file_hashes == {file.name: file.md5 for file in SOURCES[name].files}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "form"), [("mnist", STANDARDISED_MNIST), ("fashion_mnist", STANDARDISED_FASHION_MNIST)]
)
def test_mean_and_deviation_are_those_of_the_training_pixels(official_images, name, form):
    pixels = read_idx(official_images / name / "train-images-idx3-ubyte") / 255
    assert form.mean == pytest.approx((pixels.mean(),), abs=0.00005)
    assert form.deviation == pytest.approx((pixels.std(),), abs=0.00005)


PATH = Path("some-idx3-ubyte")
ARRAYS = hnp.arrays(np.uint8, hnp.array_shapes(min_dims=1, max_dims=5, min_side=0, max_side=5))


def read_idx(path: Path) -> np.ndarray:
    return parse_idx(read_content(path), path)


@given(array=ARRAYS, compressed=st.booleans())
def test_any_array_comes_back(file, array, *, compressed):
    content = idx_bytes(array)
    file.write_bytes(gzip.compress(content) if compressed else content)
    np.testing.assert_array_equal(read_idx(file), array, strict=True)


@given(content=st.binary(max_size=300))
def test_any_bytes_are_an_array_or_refused(content):
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
        ("00000802 00000001", "is not an IDX file of unsigned bytes"),
        ("00000801 00000003 0102", r"states the shape \(3,\) and holds 2 bytes of values"),
        ("00000804" + "ffffffff" * 3 + "00000000", "is damaged: it states the shape"),
        ("1f8b0000", "is a damaged gzip file"),
    ],
)
def test_refusals_name_the_reason(file, content, reason):
    file.write_bytes(bytes.fromhex(content))
    with pytest.raises(DbtoolError, match=reason) as caught:
        read_idx(file)
    assert str(file) in str(caught.value)
