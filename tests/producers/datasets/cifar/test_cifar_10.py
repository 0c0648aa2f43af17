from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.image_files import binary_batch, cifar_images, python_2_batch

from dbtool.errors import DbtoolError, UsageError
from producers.datasets import Dataset, HeldOut, ImageForm, Split, load_dataset
from producers.datasets.forms import CIFAR_10, GREY_28

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TRAINING, TEST = cifar_images(60, seed=1), cifar_images(20, seed=2)


@pytest.fixture(autouse=True)
def _no_given_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DBTOOL_DATASETS", raising=False)


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


def test_smaller_training_sets_nest_and_arrays_are_read_only(tmp_path: Path) -> None:
    folder = write(tmp_path)
    train, validation, _ = whole(load_dataset("cifar_10", form=CIFAR_10, folder=folder))
    part = load_dataset("cifar_10", form=CIFAR_10, folder=folder, train_examples=7)
    fewer, same, _ = whole(part)
    np.testing.assert_array_equal(fewer.inputs, train.inputs[:7])
    np.testing.assert_array_equal(same.inputs, validation.inputs)
    for split in whole(part):
        assert not split.inputs.flags.writeable
        assert not split.targets.flags.writeable


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


def test_absent_data_set_says_where_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(DbtoolError) as caught:
        load_dataset("cifar_10", form=CIFAR_10, datasets_dir=tmp_path)
    sentence = str(caught.value)
    assert sentence.startswith("the data set cifar_10 (data_batch_1 to data_batch_5 and test_batch")
    assert "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz" in sentence
    assert str(tmp_path / "cifar_10" / "cifar-10-batches-bin") in sentence


def test_impossible_requests_are_refused(tmp_path: Path) -> None:
    folder = write(tmp_path)
    with pytest.raises(UsageError, match="cifar_10 has from 1 to 54 examples to train on, not 55"):
        load_dataset("cifar_10", form=CIFAR_10, folder=folder, train_examples=55)
    with pytest.raises(UsageError, match="cifar_10 has no subset 'half_images'; only imagenet"):
        load_dataset("cifar_10", form=CIFAR_10, folder=folder, subset="half_images")
    with pytest.raises(UsageError, match="cifar_10 has images of 3 channels, which is not what"):
        load_dataset("cifar_10", form=GREY_28, folder=folder)
    with pytest.raises(UsageError, match="absent to take cifar_10 from does not exist"):
        load_dataset("cifar_10", form=CIFAR_10, folder=tmp_path / "absent")
    with pytest.raises(UsageError, match="unknown data set 'cifar'; closest: cifar_10"):
        load_dataset("cifar", form=CIFAR_10)
