from __future__ import annotations

import hashlib
import time
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import pytest

from dbtool.errors import DbtoolError, UsageError
from producers.datasets import SOURCES, HeldOut, find_source, load_source, read_idx
from producers.datasets.forms import STANDARDISED_FASHION_MNIST, STANDARDISED_MNIST

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import SmallDataset

    from producers.datasets import Dataset, ImageForm, Split


FOUR = HeldOut(examples=4)


@pytest.fixture
def folder(small: SmallDataset, tmp_path: Path) -> Path:
    return small.write(tmp_path / "given")


def numbers(split: Split) -> list[int]:
    """The numbers of a small data set's images, which all their pixels show."""
    assert np.all(split.inputs == split.inputs[:, :1, :1])
    return [int(number) for number in split.inputs[:, 0, 0]]


def test_small_data_set_is_split_whole(small: SmallDataset, folder: Path) -> None:
    data = load_source(small.source, held_out=FOUR, datasets_dir=folder)
    train, validation = numbers(data.train), numbers(data.validation)
    assert (len(train), len(validation)) == (12, 4)
    assert sorted(train + validation) == list(range(16))
    assert train + validation != list(range(16))
    assert numbers(data.test) == [100, 101, 102, 103, 104]
    for split in (data.train, data.validation, data.test):
        assert split.targets.tolist() == [number % 10 for number in numbers(split)]
    assert data.file_hashes == {file.name: file.md5 for file in small.source.files}
    assert (data.name, data.form.classes) == ("small", 10)


HELD_OUT = {"first": [0, 1, 2, 3], "last": [12, 13, 14, 15]}


@pytest.mark.parametrize("order", HELD_OUT)
def test_held_out_examples_are_the_first_or_the_last(
    small: SmallDataset, folder: Path, order: Literal["first", "last"]
) -> None:
    held_out = HeldOut(order, 4)
    data = load_source(small.source, held_out=held_out, datasets_dir=folder)
    assert numbers(data.validation) == HELD_OUT[order]
    # The rest is in the one fixed random order, whatever is held out.
    everything = load_source(small.source, held_out=FOUR, datasets_dir=folder)
    permuted = numbers(everything.validation) + numbers(everything.train)
    assert numbers(data.train) == [each for each in permuted if each not in HELD_OUT[order]]
    part = load_source(small.source, held_out=held_out, train_examples=5, datasets_dir=folder)
    assert numbers(part.train) == numbers(data.train)[:5]
    assert numbers(part.validation) == HELD_OUT[order]


@pytest.mark.parametrize("count", [-1, 0, 16])
def test_as_many_as_there_are_cannot_be_held_out(small: SmallDataset, count: int) -> None:
    with pytest.raises(UsageError, match="small has from 1 to 15 examples to hold out, not"):
        load_source(small.source, held_out=HeldOut(examples=count))


def test_smaller_training_sets_nest(small: SmallDataset, folder: Path) -> None:
    whole = load_source(small.source, held_out=FOUR, datasets_dir=folder)
    for count in (1, 5, 11, 12):
        part = load_source(small.source, held_out=FOUR, train_examples=count, datasets_dir=folder)
        assert numbers(part.train) == numbers(whole.train)[:count]
        assert numbers(part.validation) == numbers(whole.validation)


def test_arrays_are_read_only_bytes(small: SmallDataset, folder: Path) -> None:
    data = load_source(small.source, held_out=FOUR, datasets_dir=folder)
    for split in (data.train, data.validation, data.test):
        for array in (split.inputs, split.targets):
            assert array.dtype == np.uint8
            assert not array.flags.writeable


@pytest.mark.parametrize("count", [-1, 0, 55_001])
def test_count_out_of_range_is_refused(count: int) -> None:
    with pytest.raises(UsageError, match="mnist has from 1 to 55,000 examples to train on, not"):
        load_source(find_source("mnist"), train_examples=count)


def test_unknown_data_set_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown image data set 'mnits'; closest: mnist"):
        find_source("mnits")


SMALL_SETS = {
    "labels out of range": ((16, 28, 28), np.full(16, 10), "holds the label 10, outside 0 to 9"),
    "counts differ": ((16, 28, 28), np.zeros(15), r"holds 16 images and .* 15 labels"),
    "another number": ((15, 28, 28), np.zeros(15), "holds 15 examples, not 16"),
    "flat images": ((16, 784), np.zeros(16), "holds 2 dimensions, not images in 3"),
    "columns of labels": ((16, 28, 28), np.zeros((16, 1)), "holds 2 dimensions, not labels in 1"),
}


@pytest.mark.parametrize(("shape", "labels", "reason"), SMALL_SETS.values(), ids=SMALL_SETS)
def test_files_that_do_not_fit_are_refused(
    make_small: Callable[..., SmallDataset],
    tmp_path: Path,
    shape: tuple[int, ...],
    labels: np.ndarray,
    reason: str,
) -> None:
    odd = make_small(np.zeros(shape), labels, np.zeros((5, 28, 28)), np.zeros(5))
    with pytest.raises(DbtoolError, match=reason):
        load_source(odd.source, held_out=FOUR, datasets_dir=odd.write(tmp_path))


def test_known_file_that_is_no_idx_file_is_refused(small: SmallDataset, folder: Path) -> None:
    text = b"known, but no array"
    md5 = hashlib.md5(text, usedforsecurity=False).hexdigest()
    source = replace(small.source, test_labels=replace(small.source.test_labels, md5=md5))
    (folder / source.test_labels.name).write_bytes(text)
    with pytest.raises(DbtoolError, match="t10k-labels-idx1-ubyte is not an IDX file"):
        load_source(source, held_out=FOUR, datasets_dir=folder)


# How often each label occurs in the 60,000 official training examples of MNIST.
MNIST_TRAINING_LABELS = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
MNIST_TEST_LABELS = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]

LABELS_SHA256 = {
    "mnist": "421138b81dbf54c70dc4b6a6d62c9582208ec24c778aad5e22e0fd4625ebf46e",
    "fashion_mnist": "c1d23164e5b583fc5ca10df4d8960b4e4ef812d18458bc2bd13c05b5fab0337a",
}


def test_official_classes_are_all_there(real: dict[str, Dataset]) -> None:
    for name, training, test in [
        ("mnist", MNIST_TRAINING_LABELS, MNIST_TEST_LABELS),
        ("fashion_mnist", [6_000] * 10, [1_000] * 10),
    ]:
        data = real[name]
        held_out = np.bincount(data.validation.targets, minlength=10)
        assert (np.bincount(data.train.targets) + held_out).tolist() == training
        assert np.bincount(data.test.targets).tolist() == test
        assert data.train.inputs.shape == (55_000, 28, 28)
        assert data.validation.inputs.shape == (5_000, 28, 28)
        assert data.test.inputs.shape == (10_000, 28, 28)


@pytest.mark.parametrize("name", SOURCES)
def test_split_never_changes(real: dict[str, Dataset], name: str) -> None:
    # Another digest would make every recorded measurement one of another data set.
    labels = real[name].validation.targets
    assert hashlib.sha256(labels.tobytes()).hexdigest() == LABELS_SHA256[name]


def test_training_and_validation_are_the_official_images_once_each(
    real: dict[str, Dataset], official_images: Path
) -> None:
    official = read_idx(official_images / "mnist" / "train-images-idx3-ubyte")
    data = real["mnist"]
    expected = Counter(image.tobytes() for image in official)
    found = Counter(image.tobytes() for image in data.train.inputs)
    found.update(image.tobytes() for image in data.validation.inputs)
    assert found == expected


@pytest.mark.parametrize("order", ["first", "last", "random"])
@pytest.mark.parametrize("name", SOURCES)
def test_held_out_images_of_the_official_files(
    official_images: Path, name: str, order: Literal["random", "first", "last"]
) -> None:
    images = read_idx(official_images / name / "train-images-idx3-ubyte")
    labels = read_idx(official_images / name / "train-labels-idx1-ubyte")
    held_out = HeldOut(order, 6_000)
    data = load_source(find_source(name), held_out=held_out, datasets_dir=official_images)
    permuted = np.argsort(np.random.Philox(181_103_600).random_raw(60_000), kind="stable")
    numbers = {"first": np.arange(6_000), "last": np.arange(54_000, 60_000)}
    expected = numbers.get(order, permuted[:6_000])
    rest = permuted[~np.isin(permuted, expected)]
    assert len(rest) == 54_000
    for split, chosen in ((data.validation, expected), (data.train, rest)):
        np.testing.assert_array_equal(split.inputs, images[chosen])
        np.testing.assert_array_equal(split.targets, labels[chosen])


@pytest.mark.parametrize(
    ("name", "form"),
    [("mnist", STANDARDISED_MNIST), ("fashion_mnist", STANDARDISED_FASHION_MNIST)],
)
def test_mean_and_deviation_are_those_of_the_training_pixels(
    official_images: Path, name: str, form: ImageForm
) -> None:
    pixels = read_idx(official_images / name / "train-images-idx3-ubyte") / 255
    assert form.mean == (pytest.approx(pixels.mean(), abs=0.00005),)
    assert form.deviation == (pytest.approx(pixels.std(), abs=0.00005),)


def test_images_and_labels_stay_together(real: dict[str, Dataset]) -> None:
    """A zero takes over twice the ink of a one, which no shuffled pairing shows."""
    for split in (real["mnist"].train, real["mnist"].validation, real["mnist"].test):
        ink = split.inputs.sum(axis=(1, 2), dtype=np.int64)
        zero, one = (ink[split.targets == digit].mean() for digit in (0, 1))
        assert 2 < zero / one < 2.5


def test_subsets_of_mnist_nest(real: dict[str, Dataset], official_images: Path) -> None:
    whole = real["mnist"]
    for count in (27_500, 13_750, 6_875):
        part = load_source(find_source("mnist"), train_examples=count, datasets_dir=official_images)
        np.testing.assert_array_equal(part.train.inputs, whole.train.inputs[:count])
        np.testing.assert_array_equal(part.train.targets, whole.train.targets[:count])
        np.testing.assert_array_equal(part.validation.inputs, whole.validation.inputs)


@pytest.mark.parametrize("name", SOURCES)
def test_hashes_are_the_registered_ones(real: dict[str, Dataset], name: str) -> None:
    assert real[name].file_hashes == {file.name: file.md5 for file in SOURCES[name].files}


@pytest.mark.parametrize("name", SOURCES)
def test_loading_is_quick(official_images: Path, name: str) -> None:
    start = time.process_time()
    load_source(find_source(name), datasets_dir=official_images, fetch=False)
    assert time.process_time() - start < 2
