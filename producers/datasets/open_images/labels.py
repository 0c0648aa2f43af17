"""Reading the verified image-level labels of Open Images.

A label file is a CSV with the columns ImageID, Source, LabelName and Confidence: 1 where people saw
the class in the image, 0 where they saw that it is not there. As in the paper, the classes that
people saw are those of an image and all others count as not there, and images without any are left
out (recalled).
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from dbtool.errors import DbtoolError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import numpy.typing as npt

_DIGITS = 16
_COLUMNS = {"ImageID": pa.string(), "LabelName": pa.string(), "Confidence": pa.float64()}
_NO_DIGIT = 255
_DIGIT_VALUES = np.full(256, _NO_DIGIT, np.uint8)
_DIGIT_VALUES[np.frombuffer(b"0123456789abcdef", np.uint8)] = np.arange(16)


@dataclass(frozen=True, eq=False, slots=True)
class VerifiedLabels:
    """Which classes people saw in which images.

    Attributes:
        images: the ids of the images in which they saw one, sorted, uint64 [images].
        starts: where the classes of each image begin and the last one's end, int64 [images + 1].
        classes: what they saw, from zero, int32 [labels].
        contradicting: how many labels were left out since the file says both.
    """

    images: npt.NDArray[np.uint64]
    starts: npt.NDArray[np.int64]
    classes: npt.NDArray[np.int32]
    contradicting: int = 0

    def targets(self, number: int, classes: int) -> npt.NDArray[np.uint8]:
        """The classes of an image, uint8 [classes]: 1 there, 0 not there."""
        found = np.zeros(classes, np.uint8)
        found[self.classes[self.starts[number] : self.starts[number + 1]]] = 1
        return found


def image_id(number: int) -> str:
    """An image's id as the files write it."""
    return f"{number:0{_DIGITS}x}"


def read_classes(path: Path) -> list[str]:
    """The names of the classes in their order, such as /m/011k07, the first column of a list.

    Raises:
        DbtoolError: the list cannot be read, is empty or names a class twice.
    """
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


def read_labels(path: Path, classes: Sequence[str], *, others: bool) -> VerifiedLabels:
    """The labels in a file that are of some classes.

    A label that stands there twice counts once; a class that is said to be both there and not there
    is left out and counted.

    Args:
        path: the file.
        classes: the names of the classes in their order.
        others: whether labels of other classes may be there, which are then left out.

    Raises:
        DbtoolError: the file cannot be read, is no such CSV, or holds an impossible id, confidence
            or class.
    """
    names = pa.array(classes, pa.string())
    parts = [_parse(batch, path, names, others=others) for batch in _batches(path)]
    if not any(present.any() for _, _, present in parts):
        raise DbtoolError(
            f"{path} says of none of the listed classes that it is in an image; check the list of"
            " classes"
        )
    ids = np.concatenate([part[0] for part in parts])
    images, image = np.unique(ids, return_inverse=True)
    key = image * len(classes) + np.concatenate([part[1] for part in parts])
    present = np.concatenate([part[2] for part in parts])
    order = np.argsort(key, kind="stable")
    key, present = key[order], present[order]
    first = np.flatnonzero(np.diff(key, prepend=-1))
    key, lowest = key[first], np.minimum.reduceat(present, first)
    agreed = lowest == np.maximum.reduceat(present, first)
    image, label = np.divmod(key[agreed & (lowest == 1)], len(classes))
    counts = np.bincount(image, minlength=len(images))
    labelled = counts > 0
    return VerifiedLabels(
        images=images[labelled],
        starts=np.concatenate([[0], np.cumsum(counts[labelled])]).astype(np.int64),
        classes=label.astype(np.int32),
        contradicting=int(len(agreed) - agreed.sum()),
    )


def _batches(path: Path) -> Iterator[pa.RecordBatch]:
    """The rows of a label file, some at a time.

    Raises:
        DbtoolError: the file cannot be read, or is no such CSV.
    """
    options = pa.csv.ConvertOptions(column_types=_COLUMNS, include_columns=list(_COLUMNS))
    try:
        with pa.csv.open_csv(path, convert_options=options) as reader:
            yield from reader
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise DbtoolError(
            f"{path} is no CSV file with the columns ImageID, Source, LabelName and Confidence"
            f" ({reason}); replace it by the official file"
        ) from error


def _parse(
    batch: pa.RecordBatch, path: Path, names: pa.StringArray, *, others: bool
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """The ids, classes and presences of the labels of some rows that are of listed classes."""
    places = pc.index_in(batch["LabelName"], value_set=names)
    listed = places.is_valid().to_numpy(zero_copy_only=False)
    if not others and not listed.all():
        unknown = batch["LabelName"][int(np.argmin(listed))].as_py()
        raise DbtoolError(
            f"{path} holds the class {unknown!r}, which is not in the list of classes; take both"
            " files from the same release"
        )
    confidence = batch["Confidence"].to_numpy(zero_copy_only=False)
    verified = (confidence == 0) | (confidence == 1)
    if not verified.all():
        row = int(np.argmin(verified))
        raise DbtoolError(
            f"{path} gives image {batch['ImageID'][row]} the confidence {confidence[row]:g}, which"
            " is neither 0 nor 1; take the human-verified labels, not the machine-generated ones"
        )
    return (
        _ids(batch["ImageID"], path)[listed],
        places.drop_null().to_numpy().astype(np.int32),
        confidence[listed].astype(np.uint8),
    )


def _ids(column: pa.StringArray, path: Path) -> npt.NDArray[np.uint64]:
    """The numbers of sixteen hexadecimal digits.

    Raises:
        DbtoolError: one is something else.
    """
    whole = pc.fill_null(pc.equal(pc.binary_length(column), _DIGITS), False)
    rows = whole.to_numpy(zero_copy_only=False)
    if rows.all():
        text = column.cast(pa.binary()).cast(pa.binary(_DIGITS))
        digits = _DIGIT_VALUES[np.frombuffer(text.buffers()[1], np.uint8)]
        digits = digits.reshape(-1, _DIGITS)[text.offset : text.offset + len(text)]
        rows = (digits != _NO_DIGIT).all(axis=1)
    if not rows.all():
        wrong = column[int(np.argmin(rows))].as_py()
        raise DbtoolError(
            f"{path} holds the ImageID {wrong!r}, which is not sixteen hexadecimal digits; replace"
            " it by the official file"
        )
    octets = digits[:, 0::2] << 4 | digits[:, 1::2]
    return np.ascontiguousarray(octets).view(">u8").ravel().astype(np.uint64)
