"""CIFAR-10 as arrays, split for training, validation and testing."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from dbtool.errors import DbtoolError
from producers.datasets.cifar.batches import parse_binary, parse_python
from producers.datasets.forms import CIFAR_10
from producers.datasets.memory import scaled, take
from producers.datasets.permutation import split_order
from producers.datasets.places import candidate_folders, not_found
from producers.datasets.split import Dataset, Split

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from producers.datasets.request import Request

_CLASSES = 10
_KNOWN_SIZES = {"train": 50_000, "test": 10_000}
_HOW_TO_GET = (
    "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz or cifar-10-python.tar.gz there,"
    " unpacked in a folder named by --datasets"
)
_PYTHON_MD5 = {
    "data_batch_1": "c99cafc152244af753f735de768cd75f",
    "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
    "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
    "data_batch_4": "634d18415352ddfa80567beed471001a",
    "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
    "test_batch": "40351d587109b95175f43aff81a1287e",
}


@dataclass(frozen=True, slots=True)
class _Format:
    """One of the formats that CIFAR-10 comes in.

    Attributes:
        folder: what its official archive unpacks to.
        suffix: of the names of its batches.
        parse: the examples in the content of a batch.
        md5: of the official batches by name; of the binary ones, whose content must be the same,
            only sizes and the number of images of each class are checked.
    """

    folder: str
    suffix: str
    parse: Callable[[bytes, Path], Split]
    md5: dict[str, str] = field(default_factory=dict)

    def batches(self, folder: Path) -> list[Path]:
        """The batches in a folder: those of training in their order, then that of the test."""
        train = [folder / f"data_batch_{number}{self.suffix}" for number in range(1, 6)]
        return [path for path in (*train, folder / f"test_batch{self.suffix}") if path.is_file()]


_FORMATS = (
    _Format(folder="cifar-10-batches-bin", suffix=".bin", parse=parse_binary),
    _Format(folder="cifar-10-batches-py", suffix="", parse=parse_python, md5=_PYTHON_MD5),
)


def load_cifar_10(request: Request) -> Dataset:
    """Loads CIFAR-10 from its binary or its Python batches, the known data set or a replacement.

    Of the 50,000 official training examples those asked for are held out for validation; the first
    `train_examples` of the rest, in an order by a fixed seed, are trained on. Of a replacement,
    which may have from one to five batches of any size, the same share is held out; its classes are
    those up to the highest label of its training examples.

    Raises:
        UsageError: the request does not fit the data set, or a folder given does not exist.
        DbtoolError: the files cannot be had, or their contents are wrong.
    """
    form = request.image_form(3)
    request.without_subset()
    source, known = request.source, request.folder is None
    file_format, paths = _find(request)
    contents = {path: _read(path) for path in paths}
    hashes = {path.name: _md5(content) for path, content in contents.items()}
    if known:
        _check_hashes(file_format, hashes, paths[0].parent)
    batches = [file_format.parse(content, path) for path, content in contents.items()]
    official = Split(
        inputs=np.concatenate([batch.inputs for batch in batches[:-1]]),
        targets=np.concatenate([batch.targets for batch in batches[:-1]]),
    )
    test = take(batches[-1], np.arange(len(batches[-1])))
    classes = _CLASSES if known else int(official.targets.max()) + 1
    for path, batch in zip(paths, batches, strict=True):
        if batch.targets.max() >= classes:
            raise DbtoolError(
                f"{path} holds the label {batch.targets.max()}, outside 0 to {classes - 1}; replace"
                " the file by one of the same data set"
            )
    if known:
        _check_sizes(paths[0].parent, train=official, test=test)
    order = split_order(source, len(official), request.held_out, _KNOWN_SIZES["train"])
    return scaled(
        Dataset(
            name=source,
            form=replace(CIFAR_10, classes=classes),
            train=take(official, order.first(source, request.train_examples)),
            validation=take(official, order.held_out),
            test=test,
            file_hashes=hashes,
        ),
        form,
    )


def _find(request: Request) -> tuple[_Format, list[Path]]:
    """The format and batches of the first folder that holds a training and a test batch."""
    inside = [file_format.folder for file_format in _FORMATS]
    folders = candidate_folders(request.source, request.folder, request.datasets_dir, inside)
    fewest = 6 if request.folder is None else 2
    for folder in folders:
        for file_format in _FORMATS:
            paths = file_format.batches(folder)
            if len(paths) >= fewest and paths[-1].name.startswith("test"):
                return file_format, paths
    what = "data_batch_1 to data_batch_5 and test_batch, with or without .bin"
    raise not_found(request.source, folders, what, _HOW_TO_GET)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DbtoolError(f"{path} cannot be read: {error.strerror}") from error


def _md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def _check_hashes(file_format: _Format, hashes: dict[str, str], folder: Path) -> None:
    """Refuses batches of the known data set whose content is not the official one."""
    for name, md5 in file_format.md5.items():
        if hashes[name] != md5:
            raise DbtoolError(
                f"{folder / name} is not the known {name}: its MD5 should be {md5} and is"
                f" {hashes[name]}; get it from {_HOW_TO_GET}"
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
