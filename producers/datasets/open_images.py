"""Open Images v4 with its image-level labels, its images read when they are needed.

A label file is a CSV with the columns ImageID, Source, LabelName and Confidence: 1 where people saw
the class in the image, 0 where they saw that it is not there. As in the paper, the classes that
people saw are those of an image and all others count as not there, and images without any are left
out (recalled).
"""

import csv
import hashlib
import itertools
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from dbtool.core.errors import DbtoolError
from producers.datasets.folders import candidate_folders, not_found, read_bytes
from producers.datasets.split import Dataset, Request, fixed_permutation
from producers.datasets.streamed import EncodedImage, StreamedImages

_SPLITS = ("train", "validation", "test")
_TRAINABLE = "classes-trainable.txt"
_ALL_CLASSES = "class-descriptions.csv"
_CLASS_LISTS = (_TRAINABLE, _ALL_CLASSES, "class-descriptions-boxable.csv")
_LABEL_FILES = (
    "{split}-annotations-human-imagelabels.csv",
    "{split}-annotations-human-imagelabels-boxable.csv",
)
_IMAGE_NAME = re.compile(r"([0-9a-f]{16})\.jpg")
_WHAT = f"{_TRAINABLE}, train-annotations-human-imagelabels.csv and so on, and images/<ImageID>.jpg"
_HOW_TO_GET = (
    "https://storage.googleapis.com/openimages/web/download_v4.html, put in a folder named by"
    " --datasets"
)
_DIGITS = 16
_COLUMNS = {"ImageID": pl.String, "LabelName": pl.String, "Confidence": pl.Float64}


@dataclass(frozen=True, eq=False, slots=True)
class LabelledFiles:
    """The JPEG files of a folder with the classes that people saw in them: `ImageFiles`.

    The folder holds the images as <ImageID>.jpg; labels are those of them, as `read_labels` returns
    them.
    """

    folder: Path
    labels: pl.DataFrame
    classes: int

    @property
    def images(self) -> npt.NDArray[np.uint64]:
        """Return the ids of the images."""
        return self.labels["image"].to_numpy()

    def __len__(self) -> int:
        return len(self.labels)

    def digest(self) -> str:
        """Return a sha256 of the images' ids, in hexadecimal."""
        return hashlib.sha256(self.images.astype("<u8").tobytes()).hexdigest()

    def read(self, number: int) -> EncodedImage:
        """Read an image's file."""
        image, seen = self.labels.row(number)
        path = self.folder / f"{image_id(image)}.jpg"
        target = np.zeros(self.classes, np.uint8)
        target[seen] = 1
        return EncodedImage(content=read_bytes(path), target=target, origin=str(path))


def load_open_images(request: Request) -> Dataset:
    """Find Open Images v4, the known data set or a replacement.

    The official training, validation and test images are those of the splits, as far as people saw
    a listed class in them (recalled); the first `train_examples` of a fixed permutation are trained
    on. Images that have labels and are not there are left out, and counted on standard error.
    Classes are those of classes-trainable.txt, or else of class-descriptions.csv.
    """
    form = request.image_form(3)
    folder, class_list = _find(request)
    names = read_classes(class_list)
    files = {
        split: _files(folder, split, names, others=class_list.name != _ALL_CLASSES)
        for split in _SPLITS
    }
    for one, other in itertools.combinations(_SPLITS, 2):
        shared = np.intersect1d(files[one].images, files[other].images, assume_unique=True)
        if len(shared):
            raise DbtoolError(
                f"{folder} labels {len(shared):,} images both in {one} and in {other}, first"
                f" {image_id(int(shared[0]))}; replace the label files by the official ones"
            )
    form = replace(form, classes=len(names), multi_label=True)
    train = request.first(fixed_permutation(len(files["train"])))
    validation, test = files["validation"], files["test"]
    return Dataset(
        name=request.source,
        form=form,
        train=StreamedImages(files["train"], train, form),
        validation=StreamedImages(validation, np.arange(len(validation)), form),
        test=StreamedImages(test, np.arange(len(test)), form),
        file_hashes={
            class_list.name: hashlib.sha256("\n".join(names).encode()).hexdigest(),
            **{f"list of {split}": files[split].digest() for split in _SPLITS},
        },
    )


def _find(request: Request) -> tuple[Path, Path]:
    folders = candidate_folders(request)
    for folder in folders:
        for name in _CLASS_LISTS:
            if (folder / name).is_file() and _label_files(folder, "train"):
                return folder, folder / name
    raise not_found(request.source, folders, _WHAT, _HOW_TO_GET)


def _label_files(folder: Path, split: str) -> list[Path]:
    """Return the label files of a split, in the folder or in the split's, the preferred first."""
    names = [name.format(split=split) for name in _LABEL_FILES]
    paths = [base / name for name in names for base in (folder, folder / split)]
    return [path for path in paths if path.is_file()]


def _files(folder: Path, split: str, classes: list[str], *, others: bool) -> LabelledFiles:
    label_files = _label_files(folder, split)
    if not label_files:
        name = _LABEL_FILES[0].format(split=split)
        raise DbtoolError(f"{folder} holds no {name}; get it from {_HOW_TO_GET}")
    labels, contradicting = read_labels(label_files[0], classes, others=others)
    if contradicting:
        sys.stderr.write(
            f"{label_files[0]}: left out {contradicting:,} labels that are said to be both"
            " there and not there\n"
        )
    for of_images in (folder / "images" / split, folder / split, folder / "images"):
        images = _ids_of_files(of_images)
        if len(images):
            break
    there = labels.filter(pl.Series(np.isin(labels["image"].to_numpy(), images)))
    missing = len(labels) - len(there)
    if there.is_empty():
        raise DbtoolError(
            f"none of the {missing:,} images that {label_files[0]} labels are in {of_images} as"
            f" <ImageID>.jpg; get them from {_HOW_TO_GET}"
        )
    if missing:
        sys.stderr.write(
            f"{label_files[0]}: left out {missing:,} of {len(labels):,} images, which are"
            f" not in {of_images}\n"
        )
    return LabelledFiles(of_images, there.rechunk(), len(classes))


def _ids_of_files(folder: Path) -> npt.NDArray[np.uint64]:
    if not folder.is_dir():
        return np.empty(0, np.uint64)
    with os.scandir(folder) as entries:
        found = (match for entry in entries if (match := _IMAGE_NAME.fullmatch(entry.name)))
        return np.fromiter((int(match[1], 16) for match in found), np.uint64)


def image_id(number: int) -> str:
    """Return an image's id as the files write it."""
    return f"{number:0{_DIGITS}x}"


def read_classes(path: Path) -> list[str]:
    """Return the names of the classes, such as /m/011k07: the first column of a list."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            names = [row[0].strip() for row in csv.reader(file) if row and row[0].strip()]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DbtoolError(f"{path} cannot be read as a list of classes: {error}") from error
    if names and names[0] == "LabelName":
        del names[0]
    if not names:
        raise DbtoolError(f"{path} names no class; replace it by the official list")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DbtoolError(f"{path} names the class {twice} twice; replace it by the official list")
    return names


def read_labels(path: Path, classes: Sequence[str], *, others: bool) -> tuple[pl.DataFrame, int]:
    """Return the labels in a file that are of some classes, given by their names in order.

    A label that stands there twice counts once; a class that is said to be both there and not there
    is left out and counted. Labels of `others` than the classes may be there, which are then left
    out.

    Returns:
        A row for each image in which people saw a class: `image`, its id, ascending, and `classes`,
        the numbers of those in it, from zero; and how many labels were left out since the file says
        both.
    """
    # What is missing is not a verified label, and is shown as such.
    rows = pl.scan_csv(path, schema_overrides=_COLUMNS).select(
        pl.col("ImageID").fill_null(""), "LabelName", pl.col("Confidence").fill_null(np.nan)
    )
    label = pl.col("LabelName").cast(pl.Enum(classes), strict=False)
    try:
        _check(path, rows, label, others=others)
        stated = (
            rows.select(
                image=pl.col("ImageID").str.to_integer(base=16, dtype=pl.UInt64),
                label=label.to_physical().cast(pl.Int32),
                there=pl.col("Confidence") == 1,
            )
            .drop_nulls("label")
            .group_by("image", "label")
            .agg(all=pl.col("there").all(), any=pl.col("there").any())
            .sort("image", "label")
            .collect(engine="streaming")
        )
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise DbtoolError(
            f"{path} is not a CSV file with the columns ImageID, Source, LabelName and Confidence"
            f" ({reason}); replace it by the official file"
        ) from error
    if not stated["any"].any():
        raise DbtoolError(
            f"{path} says of none of the listed classes that it is in an image; check the list of"
            " classes"
        )
    seen = stated.filter("all").group_by("image", maintain_order=True).agg(classes="label")
    return seen, int((stated["all"] != stated["any"]).sum())


def _check(path: Path, rows: pl.LazyFrame, label: pl.Expr, *, others: bool) -> None:
    known = pl.lit(others) | label.is_not_null()
    verified = pl.col("Confidence").is_in([0.0, 1.0])
    identified = pl.col("ImageID").str.contains(f"^[0-9a-f]{{{_DIGITS}}}$")
    wrong = rows.filter(~(known & verified & identified)).head(1)
    for image, name, confidence in wrong.collect(engine="streaming").rows():
        raise DbtoolError(
            f"{path} gives image {image!r} and class {name!r} the confidence {confidence:g}: an"
            " ImageID has sixteen hexadecimal digits, the class is in the list of classes, and the"
            " confidence is 0 or 1; take the human-verified labels and the list of one release"
        )
