"""Writers of small data sets in their native formats, independent of what reads them."""

import csv
import gzip
import hashlib
import io
import pickle
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from producers.datasets.mnist.locate import SOURCES, DataFile, DataSource
from producers.datasets.split import Examples, Split

# The polynomial of CRC-32C (Castagnoli), its bits in reverse.
_CASTAGNOLI = 0x82F63B78


def picture(seed: int, width: int = 40, height: int = 30) -> Image.Image:
    """A smooth picture, so that JPEG and scaling change little of it."""
    rng = np.random.default_rng(seed)
    corners = rng.integers(0, 256, (2, 3, 3), dtype=np.uint8)
    return Image.fromarray(corners).resize((width, height), Image.Resampling.BICUBIC)


def encoded(image: Image.Image, kind: str = "JPEG") -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **({"quality": 95} if kind == "JPEG" else {}))
    return stream.getvalue()


def read(examples: Examples, count: int | None = None) -> Split:
    """The first examples, or all of them, whether they are in memory or read when needed."""
    count = len(examples) if count is None else count
    if isinstance(examples, Split):
        return examples.first(count)
    return examples.read(np.arange(count), None)


def idx_bytes(array: np.ndarray) -> bytes:
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return bytes([0, 0, 8, array.ndim]) + sizes + array.astype(np.uint8).tobytes()


@dataclass(frozen=True)
class SmallDataset:
    """A source in the format of MNIST, of 16 training examples, and the contents of its files."""

    source: DataSource
    contents: dict[str, bytes]
    compressed: dict[str, bytes]

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in self.contents.items():
            (folder / name).write_bytes(content)
        return folder


def make_small(*arrays: np.ndarray) -> SmallDataset:
    """Of training images and labels, test images and labels."""
    names = [file.name for file in SOURCES["mnist"].files]
    contents = dict(zip(names, map(idx_bytes, arrays), strict=True))
    compressed = {name: gzip.compress(content, mtime=0) for name, content in contents.items()}
    files = tuple(DataFile(name, md5(contents[name]), md5(compressed[name])) for name in names)
    return SmallDataset(DataSource("small", files, official_examples=16), contents, compressed)


def numbered_images() -> SmallDataset:
    """Every pixel of an image is its number, and its label the number modulo ten."""
    train, test = np.arange(16), np.arange(100, 105)
    images = [np.broadcast_to(each[:, None, None], (len(each), 28, 28)) for each in (train, test)]
    return make_small(images[0], train % 10, images[1], test % 10)


def md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def cifar_images(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Images uint8 [count, 32, 32, 3] and labels of which every one up to nine occurs."""
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 256, (count, 32, 32, 3), dtype=np.uint8)
    return images, (np.arange(count) % 10).astype(np.uint8)


def _planes(images: np.ndarray) -> np.ndarray:
    return images.transpose(0, 3, 1, 2).reshape(len(images), 3072)


def binary_batch(images: np.ndarray, labels: np.ndarray) -> bytes:
    return np.concatenate([labels[:, None], _planes(images)], axis=1).tobytes()


def python_3_batch(images: np.ndarray, labels: np.ndarray) -> bytes:
    batch = {b"data": np.ascontiguousarray(_planes(images)), b"labels": labels.tolist()}
    return pickle.dumps(batch | {b"filenames": [b"a.png"] * len(labels)}, protocol=2)


def python_2_batch(images: np.ndarray, labels: np.ndarray) -> bytes:
    """A batch as cPickle of Python 2 wrote the official ones, operation by operation."""

    def short(text: bytes) -> bytes:
        return b"U" + bytes([len(text)]) + text

    def whole(number: int) -> bytes:
        return b"J" + struct.pack("<i", number)

    data = _planes(images).tobytes()
    dtype = (
        b"cnumpy\ndtype\n" + short(b"u1") + b"K\x00K\x01\x87R("
        b"K\x03" + short(b"|") + b"NNN" + whole(-1) + whole(-1) + b"K\x00tb"
    )
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\n"
        b"cnumpy\nndarray\n" + b"K\x00\x85" + short(b"b") + b"\x87R("
        b"K\x01" + whole(len(images)) + b"M\x00\x0c\x86" + dtype + b"\x89"
        b"T" + struct.pack("<i", len(data)) + data + b"tb"
    )
    numbers = b"](" + b"".join(b"K" + bytes([label]) for label in labels.tolist()) + b"e"
    entries = short(b"data") + array + short(b"labels") + numbers
    return b"\x80\x02}(" + entries + short(b"batch_label") + short(b"training batch 1 of 5") + b"u."


def crc32c(data: bytes) -> int:
    """The CRC-32C of some data, bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (_CASTAGNOLI if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def record(data: bytes) -> bytes:
    """The framing of a TFRecord around some data."""

    def masked(part: bytes) -> bytes:
        crc = crc32c(part)
        turned = (crc >> 15 | crc << 17) & 0xFFFFFFFF
        return struct.pack("<I", (turned + 0xA282EAD8) % 2**32)

    length = struct.pack("<Q", len(data))
    return length + masked(length) + data + masked(data)


def _varint(number: int) -> bytes:
    octets = []
    while number > 127:
        octets.append(number & 127 | 128)
        number >>= 7
    return bytes([*octets, number])


def _delimited(field: int, content: bytes) -> bytes:
    return bytes([field << 3 | 2]) + _varint(len(content)) + content


def example(features: Mapping[str, bytes | int]) -> bytes:
    """A tf.train.Example on the wire, with a value a feature."""
    entries = []
    for name, value in features.items():
        if isinstance(value, bytes):
            feature = _delimited(1, _delimited(1, value))
        else:
            feature = _delimited(3, _delimited(1, _varint(value)))
        entries.append(_delimited(1, _delimited(1, name.encode()) + _delimited(2, feature)))
    return _delimited(1, b"".join(entries))


def image_example(content: bytes, label: int) -> bytes:
    return example({"image/format": b"JPEG", "image/encoded": content, "image/class/label": label})


def write_shards(
    folder: Path, split: str, images: Sequence[tuple[bytes, int]], count: int
) -> list[Path]:
    """Writes images, content and label from one, in turn to so many shards."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{split}-{number:05}-of-{count:05}" for number in range(count)]
    for number, path in enumerate(paths):
        path.write_bytes(b"".join(record(image_example(*image)) for image in images[number::count]))
    return paths


def write_class_folders(folder: Path, images: Mapping[str, Sequence[bytes]]) -> None:
    for name, contents in images.items():
        (folder / name).mkdir(parents=True)
        for number, content in enumerate(contents):
            (folder / name / f"{name}_{number:02}.JPEG").write_bytes(content)


def write_labels(path: Path, rows: Sequence[tuple[str, str, object]]) -> None:
    """Writes a label file of Open Images: id, class and confidence."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["ImageID", "Source", "LabelName", "Confidence"])
        writer.writerows((image, "verification", name, value) for image, name, value in rows)
