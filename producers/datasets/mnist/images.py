"""MNIST and the data sets made like it as arrays, split for training, validation and testing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dbtool.errors import DbtoolError
from producers.datasets.forms import GREY_28
from producers.datasets.memory import scaled, take
from producers.datasets.mnist.idx import parse_idx
from producers.datasets.mnist.locate import locate, read_file
from producers.datasets.mnist.sources import find_source
from producers.datasets.permutation import RANDOM_5_000, split_order
from producers.datasets.places import candidate_folders, not_found
from producers.datasets.split import Dataset, Split

if TYPE_CHECKING:
    from pathlib import Path

    from producers.datasets.mnist.locate import VerifiedFile
    from producers.datasets.mnist.sources import DataSource
    from producers.datasets.permutation import HeldOut
    from producers.datasets.request import Request


def load_source(
    source: DataSource,
    *,
    train_examples: int | None = None,
    held_out: HeldOut = RANDOM_5_000,
    datasets_dir: Path | None = None,
    fetch: bool = True,
    cache_dir: Path | None = None,
) -> Dataset:
    """Loads a data set of IDX files, which need not be a registered one.

    Some of the official training examples are held out for validation. The rest is in an order by a
    fixed seed, of which the first `train_examples` are trained on, so that smaller training sets
    are part of the larger ones and validation is the same for all.

    Args:
        source: the data set.
        train_examples: how many examples to train on; all that are not held out by default.
        held_out: which examples are for validation.
        datasets_dir: a folder that holds data sets; DBTOOL_DATASETS by default.
        fetch: whether the files may be fetched when this machine has none.
        cache_dir: the folder that keeps fetched data sets; the user's cache by default.

    Raises:
        UsageError: a number of examples is out of range or the folder given does not exist.
        DbtoolError: the files cannot be had, or their contents are wrong.
    """
    expected = source.official_examples
    # Wrong numbers are refused before anything is fetched.
    split_order(source.name, expected, held_out, expected).first(source.name, train_examples)
    files = locate(source, datasets_dir=datasets_dir, fetch=fetch, cache_dir=cache_dir)
    official, test = _official(source, files, source.classes)
    if len(official) != expected:
        raise DbtoolError(
            f"{files[source.train_labels.name].path} holds {len(official):,} examples,"
            f" not {expected:,}; replace it by the official file"
        )
    return _dataset(source, official, test, files, train_examples, held_out)


def load_idx(request: Request) -> Dataset:
    """Loads a data set of IDX files, the known one or a replacement.

    Of a replacement, the same share of the training examples as in the known data set is held out:
    one in twelve unless others are asked for. Its classes are those up to the highest label of
    its training examples.

    Raises:
        UsageError: the request does not fit the data set, or a folder given does not exist.
        DbtoolError: the files cannot be had, or their contents are wrong.
    """
    form = request.image_form(1)
    request.without_subset()
    source = find_source(request.source)
    if request.folder is None:
        loaded = load_source(
            source,
            train_examples=request.train_examples,
            held_out=request.held_out,
            datasets_dir=request.datasets_dir,
        )
    else:
        loaded = _replacement(source, request)
    return scaled(loaded, form)


def _replacement(source: DataSource, request: Request) -> Dataset:
    """The data set in a folder that replaces the known one."""
    folders = candidate_folders(source.name, request.folder, None)
    found = {file.name: read_file(folders[0], file) for file in source.files}
    missing = [name for name, file in found.items() if file is None]
    if missing:
        raise not_found(source.name, folders, f"as {missing[0]} or .gz", source.how_to_get())
    files = {name: file for name, file in found.items() if file is not None}
    labels = files[source.train_labels.name]
    classes = int(parse_idx(labels.content, labels.path).max(initial=0)) + 1
    official, test = _official(source, files, classes)
    of_classes = replace(source, classes=classes)
    return _dataset(of_classes, official, test, files, request.train_examples, request.held_out)


def _official(
    source: DataSource, files: dict[str, VerifiedFile], classes: int
) -> tuple[Split, Split]:
    """The official training and test examples, in their order."""
    return (
        _examples(files[source.train_images.name], files[source.train_labels.name], classes),
        _examples(files[source.test_images.name], files[source.test_labels.name], classes),
    )


def _dataset(
    source: DataSource,
    official: Split,
    test: Split,
    files: dict[str, VerifiedFile],
    train_examples: int | None,
    held_out: HeldOut,
) -> Dataset:
    """The data set of the official examples, part of the training examples held out."""
    order = split_order(source.name, len(official), held_out, source.official_examples)
    return Dataset(
        name=source.name,
        form=replace(GREY_28, classes=source.classes),
        train=take(official, order.first(source.name, train_examples)),
        validation=take(official, order.held_out),
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
