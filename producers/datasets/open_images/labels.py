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
import polars as pl

from dbtool.core.errors import DbtoolError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy.typing as npt

_DIGITS = 16
_COLUMNS = {"ImageID": pl.String, "LabelName": pl.String, "Confidence": pl.Float64}


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
    """The names of the classes in their order, such as /m/011k07, the first column of a list."""
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
    """
    # What is missing is no verified label, and is shown as such.
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
            f"{path} is no CSV file with the columns ImageID, Source, LabelName and Confidence"
            f" ({reason}); replace it by the official file"
        ) from error
    seen = stated.filter("all")
    if not stated["any"].any():
        raise DbtoolError(
            f"{path} says of none of the listed classes that it is in an image; check the list of"
            " classes"
        )
    images, starts = np.unique(seen["image"].to_numpy(), return_index=True)
    return VerifiedLabels(
        images=images,
        starts=np.append(starts, len(seen)),
        classes=seen["label"].to_numpy(),
        contradicting=int((stated["all"] != stated["any"]).sum()),
    )


def _check(path: Path, rows: pl.LazyFrame, label: pl.Expr, *, others: bool) -> None:
    known = pl.lit(others) | label.is_not_null()
    verified = pl.col("Confidence").is_in([0.0, 1.0])
    identified = pl.col("ImageID").str.contains(f"^[0-9a-f]{{{_DIGITS}}}$")
    wrong = rows.filter(~(known & verified & identified)).head(1)
    for image, name, confidence, is_known, is_verified in (
        wrong.with_columns(known=known, verified=verified).collect(engine="streaming").rows()
    ):
        if not is_known:
            raise DbtoolError(
                f"{path} holds the class {name!r}, which is not in the list of classes; take both"
                " files from the same release"
            )
        if not is_verified:
            raise DbtoolError(
                f"{path} gives image {image} the confidence {confidence:g}, which is neither 0 nor"
                " 1; take the human-verified labels, not the machine-generated ones"
            )
        raise DbtoolError(
            f"{path} holds the ImageID {image!r}, which is not sixteen hexadecimal digits; replace"
            " it by the official file"
        )
