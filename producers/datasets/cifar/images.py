"""CIFAR-10 as arrays, split for training, validation and testing."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dbtool.core.errors import DbtoolError
from producers.datasets.cifar.batches import parse_binary, parse_python
from producers.datasets.folders import candidate_folders, not_found, read_bytes
from producers.datasets.permutation import split_order
from producers.datasets.split import Split, check_labels, in_memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from producers.datasets.split import Dataset, Request

_CLASSES = 10
_KNOWN_SIZES = {"train": 50_000, "test": 10_000}
_HOW_TO_GET = (
    "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz or cifar-10-python.tar.gz there,"
    " unpacked in a folder named by --datasets"
)
# Of the Python batches; of the binary ones, whose content must be the same, only sizes and the
# number of images of each class are checked.
_KNOWN_MD5 = {
    "data_batch_1": "c99cafc152244af753f735de768cd75f",
    "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
    "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
    "data_batch_4": "634d18415352ddfa80567beed471001a",
    "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
    "test_batch": "40351d587109b95175f43aff81a1287e",
}
# What the official archives unpack to, the ends of their batches' names, and who reads them.
_FORMATS = (
    ("cifar-10-batches-bin", ".bin", parse_binary),
    ("cifar-10-batches-py", "", parse_python),
)


def load_cifar_10(request: Request) -> Dataset:
    """Loads CIFAR-10 from its binary or its Python batches, the known data set or a replacement.

    Of the 50,000 official training examples those asked for are held out for validation; the first
    `train_examples` of the rest, in an order by a fixed seed, are trained on. Of a replacement,
    which may have from one to five batches of any size, the same share is held out; its classes are
    those up to the highest label of its training examples.
    """
    form = request.image_form(3)
    known = request.folder is None
    parse, paths = _find(request)
    contents = [read_bytes(path) for path in paths]
    hashes = {
        path.name: hashlib.md5(content, usedforsecurity=False).hexdigest()
        for path, content in zip(paths, contents, strict=True)
    }
    folder = paths[0].parent
    if known:
        _check_hashes(hashes, folder)
    *batches, test = map(parse, contents, paths)
    official = Split(
        inputs=np.concatenate([batch.inputs for batch in batches]),
        targets=np.concatenate([batch.targets for batch in batches]),
    )
    classes = _CLASSES if known else int(official.targets.max()) + 1
    for path, batch in zip(paths, (*batches, test), strict=True):
        check_labels(path, batch.targets, classes)
    if known:
        _check_sizes(folder, train=official, test=test)
    order = split_order(request.source, len(official), request.held_out, _KNOWN_SIZES["train"])
    return in_memory(request, replace(form, classes=classes), official, test, order, hashes)


def _find(request: Request) -> tuple[Callable[[bytes, Path], Split], list[Path]]:
    """What reads the batches, and these: those of training in their order, then the test's."""
    folders = candidate_folders(request, inside=[name for name, _, _ in _FORMATS])
    fewest = 6 if request.folder is None else 2
    for folder in folders:
        for _, suffix, parse in _FORMATS:
            names = [
                *(f"data_batch_{number}{suffix}" for number in range(1, 6)),
                f"test_batch{suffix}",
            ]
            paths = [folder / name for name in names if (folder / name).is_file()]
            if len(paths) >= fewest and paths[-1].name.startswith("test"):
                return parse, paths
    what = "data_batch_1 to data_batch_5 and test_batch, with or without .bin"
    raise not_found(request.source, folders, what, _HOW_TO_GET)


def _check_hashes(hashes: dict[str, str], folder: Path) -> None:
    for name, found in hashes.items():
        md5 = _KNOWN_MD5.get(name, found)
        if found != md5:
            raise DbtoolError(
                f"{folder / name} is not the known {name}: its MD5 should be {md5} and is {found};"
                f" get it from {_HOW_TO_GET}"
            )


def _check_sizes(folder: Path, **splits: Split) -> None:
    """Refuses examples that cannot be those of the known data set: it has as many of each class."""
    for name, split in splits.items():
        size = _KNOWN_SIZES[name]
        counts = np.bincount(split.targets, minlength=_CLASSES)
        if len(split) != size or (counts != size // _CLASSES).any():
            raise DbtoolError(
                f"{folder} holds {len(split):,} {name} examples of CIFAR-10, from {counts.min():,}"
                f" to {counts.max():,} a class, not {size:,}, {size // _CLASSES:,} a class; get it"
                f" from {_HOW_TO_GET}"
            )
