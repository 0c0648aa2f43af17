from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import pytest

from dbtool.errors import DbtoolError
from producers.datasets import HeldOut, ImageForm, Split, load_dataset
from producers.datasets.forms import GREY_28

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import SmallDataset


@pytest.mark.parametrize("source", ["mnist", "fashion_mnist"])
def test_replacement_has_the_sizes_found(small: SmallDataset, tmp_path: Path, source: str) -> None:
    data = load_dataset(source, form=GREY_28, folder=small.write(tmp_path))
    assert (len(data.train), len(data.validation), len(data.test)) == (15, 1, 5)
    assert (data.name, data.form) == (source, GREY_28)
    assert data.file_hashes == {file.name: file.md5 for file in small.source.files}


@pytest.mark.parametrize(("order", "first"), [("first", 0), ("last", 14)])
def test_replacement_holds_out_the_same_share(
    small: SmallDataset, tmp_path: Path, order: Literal["first", "last"], first: int
) -> None:
    held_out = HeldOut(order, 6_000)
    data = load_dataset("mnist", form=GREY_28, folder=small.write(tmp_path), held_out=held_out)
    # A tenth of 16 examples is 1.6.
    assert isinstance(data.validation, Split)
    assert data.validation.inputs[:, 0, 0].tolist() == [first, first + 1]
    assert len(data.train) == 14


def test_compressed_replacement_of_fewer_classes(
    make_small: Callable[..., SmallDataset], tmp_path: Path
) -> None:
    labels = np.arange(24) % 3
    odd = make_small(np.zeros((24, 14, 14)), labels, np.full((6, 14, 14), 9), labels[:6])
    for name, content in odd.compressed.items():
        (tmp_path / f"{name}.gz").write_bytes(content)
    data = load_dataset("mnist", form=GREY_28, folder=tmp_path, train_examples=20)
    assert isinstance(data.form, ImageForm)
    assert data.form.classes == 3
    assert (len(data.train), len(data.validation)) == (20, 2)
    assert isinstance(data.test, Split)
    np.testing.assert_array_equal(data.test.inputs, np.full((6, 28, 28), 9))


def test_missing_file_of_a_replacement_is_named(small: SmallDataset, tmp_path: Path) -> None:
    (small.write(tmp_path) / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(DbtoolError) as caught:
        load_dataset("mnist", form=GREY_28, folder=tmp_path)
    assert str(caught.value).startswith(
        f"the data set mnist (as t10k-labels-idx1-ubyte or .gz) is not in {tmp_path}; get it from"
    )


def test_single_example_is_too_few(make_small: Callable[..., SmallDataset], tmp_path: Path) -> None:
    one = make_small(*[np.zeros((1, 28, 28)), np.zeros(1)] * 2)
    with pytest.raises(DbtoolError, match=r"at least two training examples, .* there are 1"):
        load_dataset("mnist", form=GREY_28, folder=one.write(tmp_path))


def test_known_data_set_loads_by_its_name(official_images: Path) -> None:
    data = load_dataset("mnist", form=GREY_28, datasets_dir=official_images, train_examples=6_875)
    assert (len(data.train), len(data.validation), len(data.test)) == (6_875, 5_000, 10_000)
    assert data.form == GREY_28
