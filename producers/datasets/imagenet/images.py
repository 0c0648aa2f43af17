"""ImageNet, split for training, validation and testing, its images read when they are needed."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dbtool.core.errors import DbtoolError, closest, unknown
from producers.datasets.folders import candidate_folders, not_found, read_bytes
from producers.datasets.imagenet.tfrecord import TFRecordShards, find_shards
from producers.datasets.split import (
    VALIDATION_SPLIT_SEED,
    Dataset,
    HeldOut,
    Numbers,
    Request,
    fixed_permutation,
    split_order,
)
from producers.datasets.streamed import EncodedImage, StreamedImages

_SUBSETS = HALF_CLASSES, HALF_IMAGES = ("half_classes", "half_images")
# Another order than that of the images.
_CLASSES_SEED = VALIDATION_SPLIT_SEED + 1
_CLASSES = 1_000
_TRAINING_IMAGES = 1_281_167
_VALIDATION_IMAGES = 50_000
_TEST = HeldOut(examples=50_045)
_VALIDATION_FOLDERS = ("val", "validation")
_SUFFIXES = (".jpeg", ".jpg")
_WHAT = (
    "train/<class>/*.JPEG and val/<class>/*.JPEG, or train-00000-of-01024 and validation-00000-of-"
    "00128 and so on"
)
_HOW_TO_GET = (
    "https://image-net.org/download.php (ILSVRC2012_img_train.tar and ILSVRC2012_img_val.tar),"
    " unpacked into a folder a class in a folder named by --datasets"
)


class ClassFolders:
    """The JPEG files of a folder that holds a folder a class: `ImageFiles`.

    Images are ordered by class and name. Files of other suffixes, and hidden ones, are no images.
    Classes are in the order of `names`, by default that of the folders' names.
    """

    def __init__(self, folder: Path, names: Sequence[str] | None = None) -> None:
        found = class_names(folder)
        if not found:
            raise DbtoolError(
                f"{folder} holds no class folders; sort its images into a folder a class, named"
                " as in the training images"
            )
        self.names = tuple(names if names is not None else found)
        self.classes = len(self.names)
        self._folder = folder
        self._files: list[str] = []
        labels: list[int] = []
        for name in found:
            if name not in self.names:
                near = ", ".join(closest(name, self.names))
                raise DbtoolError(
                    f"{folder / name} is the folder of an unknown class; closest: {near}"
                )
            images = [file for file in _entries(folder / name) if file.lower().endswith(_SUFFIXES)]
            if not images:
                raise DbtoolError(
                    f"{folder / name} holds no JPEG files; fill the folder or remove it"
                )
            self._files += images
            labels += [self.names.index(name)] * len(images)
        self._labels = np.array(labels, np.int32)

    def __len__(self) -> int:
        return len(self._files)

    def labels(self) -> npt.NDArray[np.int32]:
        """Return the class of each image, from zero, int32 [images]."""
        return self._labels

    def digest(self) -> str:
        """Return a sha256 of the list of files, in hexadecimal."""
        named = zip(self._files, self._labels.tolist(), strict=True)
        lines = "".join(f"{self.names[label]}/{file}\n" for file, label in named)
        return hashlib.sha256(lines.encode(errors="surrogateescape")).hexdigest()

    def read(self, number: int) -> EncodedImage:
        """Read an image's file."""
        label = int(self._labels[number])
        path = self._folder / self.names[label] / self._files[number]
        return EncodedImage(content=read_bytes(path), target=label, origin=str(path))


def class_names(folder: Path) -> list[str]:
    """Return the names of the folders in a folder, sorted, without hidden ones."""
    return [name for name in _entries(folder) if (folder / name).is_dir()]


def _entries(folder: Path) -> list[str]:
    """Return the names in a folder that are not hidden, sorted."""
    names = os.listdir(folder) if folder.is_dir() else []  # noqa: PTH208 (a million paths take seconds)
    return sorted(name for name in names if not name.startswith("."))


_Images = ClassFolders | TFRecordShards


def load_imagenet(request: Request) -> Dataset:
    """Find ImageNet as class folders or TFRecord shards, the known data set or a replacement.

    The official validation images are those of validation. The official training images are
    permuted once by a fixed seed: the first 50,045 are held out for the test, and the first
    `train_examples` of the rest are trained on. Both numbers are stated by the release, whose
    errors are multiples of one in 50,000 and one in 50,045; which images its test has is not known.
    Of a replacement the same share is held out.

    The subset `half_images` trains on half of the images of every class; `half_classes` on a fixed
    random half of the classes, numbered anew, which are also those of validation and test. Labels
    inside TFRecord shards must all be read for them, which takes minutes.
    """
    if request.subset not in {None, *_SUBSETS}:
        raise unknown("subset of imagenet", str(request.subset), _SUBSETS, "dbtool workloads")
    form = request.image_form(3)
    images, validation_images = _find(request)
    test, order = split_order(request.source, len(images), _TEST, _TRAINING_IMAGES)
    validation = np.arange(len(validation_images))
    renumbering = None
    classes = images.classes
    if request.subset == HALF_CLASSES:
        renumbering = half_of_classes(classes)
        classes //= 2
        kept = renumbering >= 0
        labels = images.labels()
        test, order = (numbers[kept[labels[numbers]]] for numbers in (test, order))
        validation = validation[kept[validation_images.labels()]]
    elif request.subset == HALF_IMAGES:
        order = half_of_images(order, images.labels())
    form = replace(form, classes=classes)
    train = request.first(order)
    for split, numbers in (("validation", validation), ("test", test)):
        # Only a small replacement has such a split.
        if not len(numbers):
            raise DbtoolError(
                f"the {split} of {request.source} {request.subset or ''} has no images in"
                f" {request.folder}; give a folder with more"
            )
    return Dataset(
        name=request.source,
        form=form,
        train=StreamedImages(images, train, form, renumbering),
        validation=StreamedImages(validation_images, validation, form, renumbering),
        test=StreamedImages(images, test, form, renumbering),
        file_hashes={
            "list of train": images.digest(),
            "list of validation": validation_images.digest(),
        },
    )


def _find(request: Request) -> tuple[_Images, _Images]:
    """Return the images for training and validation of the first folder that holds some."""
    folders = candidate_folders(request)
    known = request.folder is None
    for folder in folders:
        found = _class_folders(folder) or _shards(folder, known)
        if found is not None:
            if known:
                _check_sizes(folder, *found)
            return found
    raise not_found(request.source, folders, _WHAT, _HOW_TO_GET)


def _class_folders(folder: Path) -> tuple[_Images, _Images] | None:
    """Return the images of a folder's class folders; None when it has none for training."""
    if not class_names(folder / "train"):
        return None
    train = ClassFolders(folder / "train")
    for name in _VALIDATION_FOLDERS:
        if (folder / name).is_dir():
            return train, ClassFolders(folder / name, train.names)
    raise DbtoolError(
        f"{folder} holds train and no val; add the official validation images, a folder a class,"
        f" from {_HOW_TO_GET}"
    )


def _shards(folder: Path, known: bool) -> tuple[_Images, _Images] | None:
    """Return the images of a folder's TFRecord shards; None when it has none for training."""
    paths = find_shards(folder, "train")
    if not paths:
        return None
    validation_paths = find_shards(folder, "validation")
    if not validation_paths:
        raise DbtoolError(
            f"{folder} holds train shards and no validation shards; add validation-00000-of-00128"
            " and so on"
        )
    train = TFRecordShards(paths, _CLASSES if known else None)
    return train, TFRecordShards(validation_paths, train.classes)


def _check_sizes(folder: Path, train: _Images, validation: _Images) -> None:
    for name, found, expected in (
        ("training images", len(train), _TRAINING_IMAGES),
        ("validation images", len(validation), _VALIDATION_IMAGES),
        ("classes", train.classes, _CLASSES),
    ):
        if found != expected:
            raise DbtoolError(
                f"{folder} holds {found:,} {name} of ImageNet, not {expected:,}; get it from"
                f" {_HOW_TO_GET}"
            )


def half_of_images(numbers: Numbers, labels: npt.NDArray[np.int32]) -> Numbers:
    """Return half of some images, int64 [n // 2], of every class half as many, rounded either way.

    They are in an order whose beginnings hold every class in proportion, too. Takes the images in
    their fixed order, int64 [n], and the class of every image, by number.
    """
    own = labels[numbers]
    counts = np.bincount(own)
    by_class = np.argsort(own, kind="stable")
    # How many images of the class come before each.
    before = np.empty(len(own), np.int64)
    before[by_class] = np.arange(len(own)) - (np.cumsum(counts) - counts)[own[by_class]]
    shares = (before + 0.5) / counts[own]
    return numbers[np.argsort(shares, kind="stable")[: len(numbers) // 2]]


def half_of_classes(classes: int) -> npt.NDArray[np.int32]:
    """Return the new numbers of a fixed random half of the classes, int32; -1 of the others."""
    kept = np.sort(fixed_permutation(classes, _CLASSES_SEED)[: classes // 2])
    renumbering = np.full(classes, -1, np.int32)
    renumbering[kept] = np.arange(len(kept), dtype=np.int32)
    return renumbering
