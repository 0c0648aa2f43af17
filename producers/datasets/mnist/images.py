"""MNIST and the data sets made like it as arrays, split for training, validation and testing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dbtool.core.errors import DbtoolError
from producers.datasets.folders import candidate_folders, not_found
from producers.datasets.mnist.idx import parse_idx
from producers.datasets.mnist.locate import find_file, find_source, locate
from producers.datasets.permutation import split_order
from producers.datasets.split import Split, check_labels, in_memory

if TYPE_CHECKING:
    from producers.datasets.mnist.locate import DataSource, VerifiedFile
    from producers.datasets.split import Dataset, Request


def load_idx(request: Request) -> Dataset:
    """Load a registered data set of IDX files; see `load_source`."""
    return load_source(find_source(request.source), request)


def load_source(source: DataSource, request: Request) -> Dataset:
    """Load a data set of IDX files, the known one or a replacement.

    Some of the official training examples are held out for validation. The rest is in an order by a
    fixed seed, of which the first `train_examples` are trained on, so that smaller training sets
    are part of the larger ones and validation is the same for all.

    Of a replacement, the same share of the training examples as in the known data set is held out:
    one in twelve unless others are requested. Its classes are those up to the highest label of
    its training examples.

    Raises:
        UsageError: a number of examples is out of range or the folder given does not exist.
        DbtoolError: the files cannot be had, or their contents are wrong.
    """
    form = request.image_form(1)
    known, expected = request.folder is None, source.official_examples
    files = locate(source, request.datasets_dir) if known else _replacement(source, request)
    found = [files[file.name] for file in source.files]
    official, test = _examples(*found[:2]), _examples(*found[2:])
    if known and len(official) != expected:
        raise DbtoolError(
            f"{found[0].path} holds {len(official):,} examples, not {expected:,}; replace it by the"
            " official file"
        )
    classes = source.classes if known else int(official.targets.max(initial=0)) + 1
    for labels, split in ((found[1], official), (found[3], test)):
        check_labels(labels.path, split.targets, classes)
    order = split_order(source.name, len(official), request.held_out, expected)
    hashes = {name: file.md5 for name, file in files.items()}
    return in_memory(request, replace(form, classes=classes), official, test, order, hashes)


def _replacement(source: DataSource, request: Request) -> dict[str, VerifiedFile]:
    folders = candidate_folders(request)
    files = {}
    for file in source.files:
        found = find_file(folders[0], file)
        if found is None:
            what = f"as {file.name} or .gz"
            raise not_found(source.name, folders, what, source.how_to_get())
        files[file.name] = found
    return files


def _examples(images_file: VerifiedFile, labels_file: VerifiedFile) -> Split:
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
    return Split(inputs=images, targets=labels)
