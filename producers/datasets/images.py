"""Image data sets as arrays, split for training, validation and testing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dbtool.errors import DbtoolError, UsageError
from producers.datasets.forms import GREY_28
from producers.datasets.idx import parse_idx
from producers.datasets.locate import locate
from producers.datasets.sources import find_source
from producers.datasets.split import Dataset, Split

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    from producers.datasets.locate import VerifiedFile
    from producers.datasets.sources import DataSource

VALIDATION_SPLIT_SEED = 181_103_600
"""Seeds the order of the official training examples: the number of the paper, arXiv:1811.03600."""


def load_images(
    dataset: str,
    *,
    train_examples: int = 55_000,
    datasets_dir: Path | None = None,
    fetch: bool = True,
) -> Dataset:
    """Loads an image data set, from this machine or fetched.

    The 60,000 official training examples are permuted once by a fixed seed: the first 5,000 are
    held out for validation and the first `train_examples` of the rest are trained on, so that
    smaller training sets are part of the larger ones and validation is the same for all.

    Args:
        dataset: `mnist` or `fashion_mnist`.
        train_examples: how many examples to train on, from 1 to 55,000.
        datasets_dir: a folder that holds data sets; DBTOOL_DATASETS by default.
        fetch: whether the files may be fetched when this machine has none.

    Raises:
        UsageError: the data set is unknown, `train_examples` is out of range or the folder given
            does not exist.
        DbtoolError: the files cannot be had, or their contents are wrong.
    """
    return load_source(
        find_source(dataset), train_examples=train_examples, datasets_dir=datasets_dir, fetch=fetch
    )


def load_source(
    source: DataSource,
    *,
    train_examples: int | None = None,
    datasets_dir: Path | None = None,
    fetch: bool = True,
    cache_dir: Path | None = None,
) -> Dataset:
    """Loads an image data set that need not be a registered one; see `load_images`.

    Args:
        source: the data set.
        train_examples: how many examples to train on; all that are not held out by default.
        datasets_dir: a folder that holds data sets; DBTOOL_DATASETS by default.
        fetch: whether the files may be fetched when this machine has none.
        cache_dir: the folder that keeps fetched data sets; the user's cache by default.

    Raises:
        UsageError: `train_examples` is out of range or the folder given does not exist.
        DbtoolError: the files cannot be had, or their contents are wrong.
    """
    count = source.train_examples if train_examples is None else train_examples
    if not 1 <= count <= source.train_examples:
        raise UsageError(
            f"{source.name} has from 1 to {source.train_examples:,} examples to train on,"
            f" not {count:,}; give train_examples in that range"
        )
    files = locate(source, datasets_dir=datasets_dir, fetch=fetch, cache_dir=cache_dir)
    official = _examples(
        files[source.train_images.name], files[source.train_labels.name], source.classes
    )
    test = _examples(files[source.test_images.name], files[source.test_labels.name], source.classes)
    held_out = source.validation_examples
    expected = source.train_examples + held_out
    if len(official.targets) != expected:
        raise DbtoolError(
            f"{files[source.train_labels.name].path} holds {len(official.targets):,} examples,"
            f" not {expected:,}; replace it by the official file"
        )
    order = _permutation(expected)
    return Dataset(
        name=source.name,
        form=replace(GREY_28, classes=source.classes),
        train=_take(official, order[held_out : held_out + count]),
        validation=_take(official, order[:held_out]),
        test=test,
        file_hashes={name: file.md5 for name, file in files.items()},
    )


def _examples(images_file: VerifiedFile, labels_file: VerifiedFile, classes: int) -> Split:
    """The examples of a pair of files, read-only and in their order.

    Raises:
        DbtoolError: the files are no IDX files, do not belong together or hold impossible labels.
    """
    images = parse_idx(images_file.content, images_file.path)
    labels = parse_idx(labels_file.content, labels_file.path)
    if images.ndim != 3:
        raise DbtoolError(f"{images_file.path} holds {images.ndim} dimensions, not images in 3")
    if labels.ndim != 1:
        raise DbtoolError(f"{labels_file.path} holds {labels.ndim} dimensions, not labels in 1")
    if len(images) != len(labels):
        raise DbtoolError(
            f"{images_file.path} holds {len(images):,} images and {labels_file.path}"
            f" {len(labels):,} labels; take both files from the same data set"
        )
    if labels.size and labels.max() >= classes:
        raise DbtoolError(
            f"{labels_file.path} holds the label {labels.max()}, outside 0 to {classes - 1}"
        )
    return Split(inputs=images, targets=labels)


def _permutation(count: int) -> npt.NDArray[np.int64]:
    """The fixed random order of the official training examples, int64 [count]."""
    # NumPy promises the same raw numbers of a bit generator for ever, but not the same shuffle.
    keys = np.random.Philox(VALIDATION_SPLIT_SEED).random_raw(count)
    return np.argsort(keys, kind="stable")


def _take(split: Split, indices: npt.NDArray[np.int64]) -> Split:
    """The examples at some places, copied to read-only arrays."""
    images, labels = split.inputs[indices], split.targets[indices]
    images.setflags(write=False)
    labels.setflags(write=False)
    return Split(inputs=images, targets=labels)
