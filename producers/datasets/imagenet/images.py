"""ImageNet, split for training, validation and testing, its images read when they are needed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dbtool.errors import DbtoolError
from producers.datasets.imagenet.folders import ClassFolders, class_names
from producers.datasets.imagenet.shards import TFRecordShards, find_shards
from producers.datasets.imagenet.subsets import (
    HALF_CLASSES,
    HALF_IMAGES,
    check_subset,
    half_of_classes,
    half_of_images,
)
from producers.datasets.permutation import HeldOut, split_order
from producers.datasets.places import candidate_folders, not_found
from producers.datasets.split import Dataset
from producers.datasets.streamed.images import StreamedImages

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    from producers.datasets.request import Request

_CLASSES = 1_000
_TRAINING_IMAGES = 1_281_167
_VALIDATION_IMAGES = 50_000
_TEST = HeldOut(examples=50_045)
_VALIDATION_FOLDERS = ("val", "validation")
_WHAT = (
    "train/<class>/*.JPEG and val/<class>/*.JPEG, or train-00000-of-01024 and validation-00000-of-"
    "00128 and so on"
)
_HOW_TO_GET = (
    "https://image-net.org/download.php (ILSVRC2012_img_train.tar and ILSVRC2012_img_val.tar),"
    " unpacked into a folder a class in a folder named by --datasets"
)


@dataclass(frozen=True, slots=True)
class _Files:
    """The official training and validation images."""

    train: ClassFolders | TFRecordShards
    validation: ClassFolders | TFRecordShards
    classes: int


def load_imagenet(request: Request) -> Dataset:
    """Finds ImageNet as class folders or TFRecord shards, the known data set or a replacement.

    The official validation images are those of validation. The official training images are
    permuted once by a fixed seed: the first 50,045 are held out for the test, and the first
    `train_examples` of the rest are trained on. Both numbers are stated by the release, whose
    errors are multiples of one in 50,000 and one in 50,045; which images its test has is not known.
    Of a replacement the same share is held out.

    The subset `half_images` trains on half of the images of every class; `half_classes` on a fixed
    random half of the classes, numbered anew, which are also those of validation and test. Labels
    inside TFRecord shards must all be read for them, which takes minutes.

    Raises:
        UsageError: the request does not fit the data set, or a folder given does not exist.
        DbtoolError: the files cannot be had, or they are not the known ones.
    """
    check_subset(request.subset)
    request.without_held_out()
    form = request.image_form(3)
    files = _find(request)
    order = split_order(request.source, len(files.train), _TEST, _TRAINING_IMAGES)
    validation = np.arange(len(files.validation))
    renumbering = None
    if request.subset == HALF_CLASSES:
        renumbering = half_of_classes(files.classes)
        kept = renumbering >= 0
        labels = files.train.labels()
        order = replace(
            order,
            train=order.train[kept[labels[order.train]]],
            held_out=order.held_out[kept[labels[order.held_out]]],
        )
        validation = validation[kept[files.validation.labels()]]
    elif request.subset == HALF_IMAGES:
        order = replace(order, train=half_of_images(order.train, files.train.labels()))
    classes = files.classes if renumbering is None else files.classes // 2
    form = replace(form, classes=classes)
    train = order.first(request.source, request.train_examples)
    for split, numbers in (("validation", validation), ("test", order.held_out)):
        _check_some(request, split, numbers)
    return Dataset(
        name=request.source,
        form=form,
        train=StreamedImages(files.train, train, form, renumbering),
        validation=StreamedImages(files.validation, validation, form, renumbering),
        test=StreamedImages(files.train, order.held_out, form, renumbering),
        file_hashes={
            "list of train": files.train.digest(),
            "list of validation": files.validation.digest(),
        },
    )


def _find(request: Request) -> _Files:
    """The images of the first folder that holds some, which must all be there."""
    folders = candidate_folders(request.source, request.folder, request.datasets_dir)
    known = request.folder is None
    for folder in folders:
        files = _class_folders(folder) or _shards(folder, known)
        if files is not None:
            if known:
                _check_sizes(folder, files)
            return files
    raise not_found(request.source, folders, _WHAT, _HOW_TO_GET)


def _class_folders(folder: Path) -> _Files | None:
    """The images of a folder's class folders; None when it has none for training."""
    if not class_names(folder / "train"):
        return None
    train = ClassFolders(folder / "train")
    for name in _VALIDATION_FOLDERS:
        if (folder / name).is_dir():
            validation = ClassFolders(folder / name, train.classes)
            return _Files(train=train, validation=validation, classes=len(train.classes))
    raise DbtoolError(
        f"{folder} holds train and no val; add the official validation images, a folder a class,"
        f" from {_HOW_TO_GET}"
    )


def _shards(folder: Path, known: bool) -> _Files | None:
    """The images of a folder's TFRecord shards; None when it has none for training."""
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
    validation = TFRecordShards(validation_paths, train.classes)
    return _Files(train=train, validation=validation, classes=train.classes)


def _check_sizes(folder: Path, files: _Files) -> None:
    """Refuses images that cannot be those of the known data set."""
    for name, found, expected in (
        ("training images", len(files.train), _TRAINING_IMAGES),
        ("validation images", len(files.validation), _VALIDATION_IMAGES),
        ("classes", files.classes, _CLASSES),
    ):
        if found != expected:
            raise DbtoolError(
                f"{folder} holds {found:,} {name} of ImageNet, not {expected:,}; get it from"
                f" {_HOW_TO_GET}"
            )


def _check_some(request: Request, split: str, numbers: npt.NDArray[np.int64]) -> None:
    """Refuses a split without images, which only a small replacement has."""
    if len(numbers) == 0:
        raise DbtoolError(
            f"the {split} of {request.source} {request.subset or ''} has no images in"
            f" {request.folder}; give a folder with more"
        )
