"""Images in TFRecord shards, read without TensorFlow.

A file is one record after another: the length of its data as a 64-bit integer, a masked CRC-32C of
those eight bytes, the data, and a masked CRC-32C of it; integers are little-endian. The mask turns
a sum by 15 bits and adds a constant, since sums of data that holds sums are of little use. The data
of an image is the message `tf.train.Example`.
"""

import os
import re
import struct
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np
import numpy.typing as npt
from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory, text_format

from dbtool.core.errors import DbtoolError
from dbtool.core.files import open_file
from dbtool.core.walk import files_matching
from producers.datasets.folders import digest_of, reading
from producers.datasets.streamed import EncodedImage

_HEADER = struct.Struct("<QI")
_FOOTER = struct.Struct("<I")
_LENGTH_BYTES = 8
_MASK = 0xA282EAD8
_UINT32 = 0xFFFFFFFF
_NAME = re.compile(r"[a-z]+-\d{5}-of-\d{5}")
_INDEXING_THREADS = 16
_MANY_RECORDS = 100_000
# What of the message is read: a map of features, each a list of bytes or of whole numbers.
_MESSAGES = """
name: "example.proto" package: "tensorflow" syntax: "proto3"
message_type {
  name: "BytesList"
  field { name: "value" number: 1 type: TYPE_BYTES label: LABEL_REPEATED }
}
message_type {
  name: "Int64List"
  field { name: "value" number: 1 type: TYPE_INT64 label: LABEL_REPEATED }
}
message_type {
  name: "Feature"
  field { name: "bytes_list" number: 1 type_name: "BytesList" label: LABEL_OPTIONAL }
  field { name: "int64_list" number: 3 type_name: "Int64List" label: LABEL_OPTIONAL }
}
message_type {
  name: "Features"
  nested_type {
    name: "FeatureEntry" options { map_entry: true }
    field { name: "key" number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
    field { name: "value" number: 2 type_name: "Feature" label: LABEL_OPTIONAL }
  }
  field { name: "feature" number: 1 type_name: "FeatureEntry" label: LABEL_REPEATED }
}
message_type {
  name: "Example"
  field { name: "features" number: 1 type_name: "Features" label: LABEL_OPTIONAL }
}
"""


def _example_class() -> Any:
    """Make the class of the message, in a pool apart from TensorFlow's, which has the names."""
    file = text_format.Parse(_MESSAGES, descriptor_pb2.FileDescriptorProto())
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("tensorflow.Example"))


_Example = _example_class()


class TFRecordShards:
    """The records of a split's shards: `ImageFiles`.

    Only the headers of the records are read at first. Labels are from 1 to the number of classes in
    the files, and from zero here; where `classes` is None, they tell how many there are.
    """

    def __init__(self, paths: list[Path], classes: int | None) -> None:
        self._paths = paths
        # Waiting for a network file system is most of the work.
        with ThreadPoolExecutor(_INDEXING_THREADS) as threads:
            indexes = list(threads.map(index_records, paths))
        records = [len(index) for index in indexes]
        self._shards = np.repeat(np.arange(len(paths), dtype=np.int32), records)
        self._records = np.concatenate(indexes)
        self._labels: npt.NDArray[np.int32] | None = None
        self._most = classes
        self.classes = int(self.labels().max(initial=0)) + 1 if classes is None else classes

    def __len__(self) -> int:
        return len(self._shards)

    def labels(self) -> npt.NDArray[np.int32]:
        """Return the class of each image, from zero, int32 [images], which reads every record."""
        if self._labels is None:
            if len(self) > _MANY_RECORDS:
                folder = self._paths[0].parent
                sys.stderr.write(f"reading the labels of {len(self):,} records in {folder}\n")
            with ThreadPoolExecutor(os.cpu_count()) as threads:
                # Of the images themselves nothing is kept.
                labels = threads.map(lambda number: self.read(number).target, range(len(self)))
                self._labels = np.array(list(labels), np.int32)
        return self._labels

    def digest(self) -> str:
        """Return a sha256 of the list of shards with their sizes, in hexadecimal."""
        return digest_of((path.name, path.stat().st_size) for path in self._paths)

    def read(self, number: int) -> EncodedImage:
        """Read an image's record."""
        path = self._paths[self._shards[number]]
        offset, length = self._records[number].tolist()
        origin = f"{path} (its record at byte {offset - _HEADER.size:,})"
        content, label = parse_example(read_record(path, offset, length), origin)
        if label < 1 or (self._most is not None and label > self._most):
            most = "" if self._most is None else f" to {self._most}"
            raise DbtoolError(f"{origin} has the label {label}, outside 1{most}; replace the file")
        return EncodedImage(content, label - 1, origin)


def find_shards(folder: Path, split: str) -> list[Path]:
    """Return the shards of a split, `train` or `validation`, in their order.

    They lie in a folder, or in the folder of the split's name there.
    """
    for below in (folder / split, folder):
        there = (path.name for path in files_matching(below, f"{split}-*"))
        found = set(filter(_NAME.fullmatch, there))
        counts = sorted({name[-5:] for name in found})
        if len(counts) > 1:
            raise DbtoolError(
                f"{below} holds several sets of {split} shards (of {', '.join(counts)}); keep one"
            )
        if found:
            count = int(counts[0])
            names = [f"{split}-{number:05}-of-{count:05}" for number in range(count)]
            missing = set(names) - found
            if missing:
                raise DbtoolError(
                    f"{below} lacks {len(missing)} of {count} {split} shards, first"
                    f" {min(missing)}; add what is missing"
                )
            return [below / name for name in names]
    return []


def masked_crc(data: bytes) -> int:
    """Return the masked CRC-32C of some data, as a TFRecord file holds it."""
    crc = int(google_crc32c.value(data))
    return ((crc >> 15 | crc << 17) + _MASK) & _UINT32


def index_records(path: Path) -> npt.NDArray[np.int64]:
    """Return offset and length of the data of each record, int64 [records, 2]; it is not read."""
    records = []
    with reading(path), open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        position = 0
        while position < size:
            header = os.pread(file.fileno(), _HEADER.size, position).ljust(_HEADER.size, b"\0")
            length, crc = _HEADER.unpack(header)
            start = position + _HEADER.size
            is_right = masked_crc(header[:_LENGTH_BYTES]) == crc
            if not is_right or start + length + _FOOTER.size > size:
                raise _damaged(path, position)
            records.append((start, length))
            position = start + length + _FOOTER.size
    return np.array(records, np.int64).reshape(-1, 2)


def read_record(path: Path, offset: int, length: int) -> bytes:
    """Return the data of a record at an offset, verified."""
    with reading(path), open_file(path) as file:
        content = os.pread(file.fileno(), length + _FOOTER.size, offset)
    data, footer = content[:length], content[length:]
    if len(footer) < _FOOTER.size or masked_crc(data) != _FOOTER.unpack(footer)[0]:
        raise _damaged(path, offset - _HEADER.size)
    return data


def _damaged(path: Path, position: int) -> DbtoolError:
    return DbtoolError(
        f"{path} is not a TFRecord file, or is truncated or damaged: its record at byte"
        f" {position:,} is not whole or has a wrong CRC; replace the file"
    )


def parse_example(data: bytes, origin: str) -> tuple[bytes, int]:
    """Return an example's `image/encoded`, the content of a file, and `image/class/label`."""
    try:
        features = _Example.FromString(data).features.feature
    except message.DecodeError as error:
        raise DbtoolError(f"{origin} is not a tf.train.Example; replace the file") from error
    return (
        _single(features, "image/encoded", "bytes_list", origin),
        _single(features, "image/class/label", "int64_list", origin),
    )


def _single(features: Any, name: str, kind: str, origin: str) -> Any:
    values: Any = getattr(features[name], kind).value if name in features else ()
    if len(values) != 1:
        found = ", ".join(sorted(features)) or "nothing"
        raise DbtoolError(
            f"{origin} has no single {name} (it holds {found}); write the shards as"
            " build_imagenet_data.py of TensorFlow's models does"
        )
    return values[0]
