from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
import pytest

from dbtool.core.errors import DbtoolError
from producers.datasets import Dataset, ImageForm, Split, load_dataset
from producers.datasets.forms import CIFAR_10
from producers.datasets.permutation import HeldOut
from tests.support.image_files import binary_batch, cifar_images, python_2_batch

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TRAINING, TEST = cifar_images(60, seed=1), cifar_images(20, seed=2)


def write(
    folder: Path, batch: Callable[[np.ndarray, np.ndarray], bytes] = binary_batch, batches: int = 3
) -> Path:
    """Writes 60 training images in so many batches and 20 test images."""
    folder.mkdir(parents=True, exist_ok=True)
    suffix = ".bin" if batch is binary_batch else ""
    size = 60 // batches
    for number in range(batches):
        part = slice(number * size, (number + 1) * size)
        content = batch(TRAINING[0][part], TRAINING[1][part])
        (folder / f"data_batch_{number + 1}{suffix}").write_bytes(content)
    (folder / f"test_batch{suffix}").write_bytes(batch(*TEST))
    return folder


def whole(data: Dataset) -> list[Split]:
    splits = [data.train, data.validation, data.test]
    assert all(isinstance(split, Split) for split in splits)
    return [split for split in splits if isinstance(split, Split)]


def test_both_formats_give_the_same_splits(tmp_path: Path) -> None:
    folders = [
        write(tmp_path / "binary", batches=1),
        write(tmp_path / "python" / "cifar-10-batches-py", python_2_batch, batches=5).parent,
    ]
    both = [load_dataset("cifar_10", form=CIFAR_10, folder=folder) for folder in folders]
    for one, other in zip(*map(whole, both), strict=True):
        np.testing.assert_array_equal(one.inputs, other.inputs, strict=True)
        np.testing.assert_array_equal(one.targets, other.targets, strict=True)
    train, validation, test = whole(both[0])
    assert (len(train), len(validation)) == (54, 6)
    np.testing.assert_array_equal(test.inputs, TEST[0])
    found = {image.tobytes() for split in (train, validation) for image in split.inputs}
    assert found == {image.tobytes() for image in TRAINING[0]}
    assert both[0].form == CIFAR_10
    content = (folders[0] / "test_batch.bin").read_bytes()
    md5 = hashlib.md5(content, usedforsecurity=False).hexdigest()
    assert both[0].file_hashes["test_batch.bin"] == md5


def test_held_out_images_are_those_asked_for(tmp_path: Path) -> None:
    held_out = HeldOut("last", 10_000)
    data = load_dataset("cifar_10", form=CIFAR_10, folder=write(tmp_path), held_out=held_out)
    train, validation, _ = whole(data)
    # A fifth of 60.
    np.testing.assert_array_equal(validation.inputs, TRAINING[0][-12:])
    np.testing.assert_array_equal(validation.targets, TRAINING[1][-12:])
    assert len(train) == 48


def test_classes_are_those_found(tmp_path: Path) -> None:
    images, labels = TRAINING
    (tmp_path / "data_batch_1.bin").write_bytes(binary_batch(images, labels % 4))
    (tmp_path / "test_batch.bin").write_bytes(binary_batch(TEST[0], TEST[1] % 4))
    form = load_dataset("cifar_10", form=CIFAR_10, folder=tmp_path).form
    assert isinstance(form, ImageForm)
    assert form.classes == 4
    (tmp_path / "test_batch.bin").write_bytes(binary_batch(*TEST))
    with pytest.raises(DbtoolError, match=r"test_batch\.bin holds the label 9, outside 0 to 3"):
        load_dataset("cifar_10", form=CIFAR_10, folder=tmp_path)


def test_images_are_scaled_to_the_form(tmp_path: Path) -> None:
    form = ImageForm(height=16, width=8, channels=3, classes=10)
    data = load_dataset("cifar_10", form=form, folder=write(tmp_path))
    train, _, test = whole(data)
    assert train.inputs.shape == (54, 16, 8, 3)
    # Halving noise bilinearly averages over neighbours: the mean stays, the spread shrinks.
    assert abs(test.inputs.mean() - TEST[0].mean()) < 1
    assert test.inputs.std() < 0.6 * TEST[0].std()


def test_known_data_set_is_checked(tmp_path: Path) -> None:
    binary = write(tmp_path / "binary" / "cifar_10" / "cifar-10-batches-bin", batches=5)
    with pytest.raises(DbtoolError) as caught:
        load_dataset("cifar_10", form=CIFAR_10, datasets_dir=tmp_path / "binary")
    assert str(caught.value).startswith(
        f"{binary} holds 60 train examples of CIFAR-10, from 6 to 6 a class, not 50,000, 5,000 a"
    )
    python = write(tmp_path / "python" / "cifar-10-batches-py", python_2_batch, batches=5)
    with pytest.raises(DbtoolError, match="data_batch_1 is not the known data_batch_1: its MD5"):
        load_dataset("cifar_10", form=CIFAR_10, datasets_dir=python.parent)
