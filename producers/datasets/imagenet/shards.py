"""Images in TFRecord shards."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from dbtool.errors import DbtoolError
from producers.datasets.imagenet.example import parse_example
from producers.datasets.imagenet.tfrecord import HEADER_BYTES, index_records, read_record
from producers.datasets.streamed.images import EncodedImage

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

_NAME = re.compile(r"(?P<split>[a-z]+)-(?P<number>\d{5})-of-(?P<count>\d{5})")
_INDEXING_THREADS = 16
_MANY_RECORDS = 100_000


class TFRecordShards:
    """The records of a split's shards: `ImageFiles`.

    Only the headers of the records are read at first. Labels are from 1 to the number of classes in
    the files, and from zero here.

    Args:
        paths: the shards in their order.
        classes: how many classes there are; None where the labels themselves tell.

    Raises:
        DbtoolError: a shard is damaged.
    """

    def __init__(self, paths: list[Path], classes: int | None) -> None:
        self._paths = paths
        # Waiting for a network file system is most of the work.
        with ThreadPoolExecutor(_INDEXING_THREADS) as threads:
            indexes = list(threads.map(index_records, paths))
        records = [len(index) for index in indexes]
        self._shards = np.repeat(np.arange(len(paths), dtype=np.int32), records)
        self._places = np.concatenate(indexes)
        self._labels: npt.NDArray[np.int32] | None = None
        self._most = classes
        self.classes = int(self.labels().max(initial=0)) + 1 if classes is None else classes

    def __len__(self) -> int:
        return len(self._shards)

    def labels(self) -> npt.NDArray[np.int32]:
        """The class of each image, from zero, int32 [images]: every record is read once for it.

        Raises:
            DbtoolError: a record is damaged or has no possible label.
        """
        if self._labels is None:
            if len(self) > _MANY_RECORDS:
                folder = self._paths[0].parent
                sys.stderr.write(f"reading the labels of {len(self):,} records in {folder}\n")
            with ThreadPoolExecutor(os.cpu_count()) as threads:
                labels = list(threads.map(self._label, range(len(self)), chunksize=64))
            self._labels = np.array(labels, np.int32)
        return self._labels

    def digest(self) -> str:
        """A sha256 of the list of shards with their sizes, in hexadecimal."""
        lines = (f"{path.name} {path.stat().st_size}\n" for path in self._paths)
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def read(self, number: int) -> EncodedImage:
        """Reads an image's record.

        Raises:
            DbtoolError: the record is damaged or has no possible label.
        """
        content, target, origin = self._parsed(number)
        return EncodedImage(content=content, target=target, origin=origin)

    def _label(self, number: int) -> int:
        return self._parsed(number)[1]

    def _parsed(self, number: int) -> tuple[bytes, int, str]:
        """The content, class and origin of an image."""
        path = self._paths[self._shards[number]]
        offset, length = self._places[number].tolist()
        origin = f"{path} (its record at byte {offset - HEADER_BYTES:,})"
        content, label = parse_example(read_record(path, offset, length), origin)
        if label < 1 or (self._most is not None and label > self._most):
            most = "" if self._most is None else f" to {self._most}"
            raise DbtoolError(f"{origin} has the label {label}, outside 1{most}; replace the file")
        return content, label - 1, origin


def find_shards(folder: Path, split: str) -> list[Path]:
    """The shards of a split in a folder, or in the folder of the split's name there.

    Args:
        folder: the folder.
        split: `train` or `validation`.

    Returns:
        All shards in their order; none when there is not one.

    Raises:
        DbtoolError: some are missing, or they belong to several sets of shards.
    """
    for place in (folder / split, folder):
        paths = sorted(place.glob(f"{split}-?????-of-?????"))
        matches = [match for path in paths if (match := _NAME.fullmatch(path.name))]
        if matches:
            return _whole(place, split, matches)
    return []


def _whole(folder: Path, split: str, matches: list[re.Match[str]]) -> list[Path]:
    """The paths of one whole set of shards."""
    counts = {match["count"] for match in matches}
    if len(counts) > 1:
        raise DbtoolError(
            f"{folder} holds several sets of {split} shards (of {', '.join(sorted(counts))}); keep"
            " one"
        )
    count = int(counts.pop())
    names = [f"{split}-{number:05}-of-{count:05}" for number in range(count)]
    missing = set(names) - {match[0] for match in matches}
    if missing:
        raise DbtoolError(
            f"{folder} lacks {len(missing)} of {count} {split} shards, first {min(missing)}; add"
            " what is missing"
        )
    return [folder / name for name in names]
