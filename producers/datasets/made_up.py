"""Small made-up data in the native format of every data set, to try workloads out with.

The brightness of an image tells its class; a sentence has a few words.
"""

import gzip
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

_SEED = 2018
_GREY_CLASSES = 10
# Of all these the loaders hold out 8 for validation, and 8 are for testing: programs that evaluate
# as many examples are compiled once.
_IDX_SIZES = {"train": 96, "t10k": 8}
_CIFAR_SIZES = {"data_batch_1.bin": 80, "test_batch.bin": 8}
# Of each class.
_IMAGENET_CLASSES = ("n01440764", "n01443537", "n01484850", "n01491361")
_IMAGENET_SIZES = {"train": 52, "val": 2}
_OPEN_IMAGES_CLASSES = ("/m/011k07", "/m/0120dh", "/m/01226z", "/m/012n7d", "/m/012w5l")
_OPEN_IMAGES_SIZES = {"train": 64, "validation": 8, "test": 8}
# Subject, verb and object: each word tells much of the next.
_SENTENCE = (
    ("the dog", "a cat", "one bird", "the child"),
    ("sees", "hears", "finds"),
    ("a stone", "the river", "some bread", "a tree"),
    ("today .", "at night .", "."),
)
# Of all these the loaders hold out 8 for validation and 8 for testing, as of the made-up images.
_LM1B_SHARDS = {
    "training-monolingual.tokenized.shuffled/news.en-00001-of-00100": 120,
    "heldout-monolingual.tokenized.shuffled/news.en.heldout-00000-of-00050": 8,
    "heldout-monolingual.tokenized.shuffled/news.en.heldout-00001-of-00050": 8,
}
_PAGES, _SENTENCES_A_PAGE = 16, 10
_BROWN_SENTENCES = 229


def _images(
    random: np.random.Generator, labels: npt.NDArray[np.uint8], shape: tuple[int, ...], classes: int
) -> npt.NDArray[np.uint8]:
    """Noise around a grey level a class, uint8 [labels, *shape]."""
    level = (labels.astype(np.float64) + 0.5) / classes
    noise = random.normal(0.0, 0.1, (len(labels), *shape))
    light = level.reshape(-1, *[1] * len(shape)) + noise
    return np.round(255 * light.clip(0, 1)).astype(np.uint8)


def write_idx(folder: Path) -> None:
    """Write the files of MNIST and Fashion MNIST."""
    random = np.random.default_rng(_SEED)
    for split, size in _IDX_SIZES.items():
        labels = np.arange(size, dtype=np.uint8) % _GREY_CLASSES
        images = _images(random, labels, (28, 28), _GREY_CLASSES)
        header = struct.pack(">4i", 0x00000803, *images.shape)
        (folder / f"{split}-images-idx3-ubyte").write_bytes(header + images.tobytes())
        header = struct.pack(">2i", 0x00000801, size)
        (folder / f"{split}-labels-idx1-ubyte").write_bytes(header + labels.tobytes())


def write_cifar_10(folder: Path) -> None:
    """Write the files of CIFAR-10."""
    random = np.random.default_rng(_SEED)
    for name, size in _CIFAR_SIZES.items():
        labels = np.arange(size, dtype=np.uint8) % _GREY_CLASSES
        planes = _images(random, labels, (3, 32, 32), _GREY_CLASSES).reshape(size, -1)
        (folder / name).write_bytes(np.column_stack([labels, planes]).tobytes())


def write_imagenet(folder: Path) -> None:
    """Write the files of ImageNet, as folders of classes."""
    random = np.random.default_rng(_SEED)
    for split, size in _IMAGENET_SIZES.items():
        for label, name in enumerate(_IMAGENET_CLASSES):
            of_class = folder / split / name
            of_class.mkdir(parents=True, exist_ok=True)
            labels = np.full(size, label, np.uint8)
            images = _images(random, labels, (40, 48, 3), len(_IMAGENET_CLASSES))
            for number, image in enumerate(images):
                _write_jpeg(of_class / f"{name}_{number}.JPEG", image)


def write_open_images(folder: Path) -> None:
    """Write the files of Open Images v4."""
    random = np.random.default_rng(_SEED)
    (folder / "classes-trainable.txt").write_text("\n".join(_OPEN_IMAGES_CLASSES) + "\n")
    first = 1
    for split, size in _OPEN_IMAGES_SIZES.items():
        of_split = folder / "images" / split
        of_split.mkdir(parents=True, exist_ok=True)
        labels = np.arange(size, dtype=np.uint8) % len(_OPEN_IMAGES_CLASSES)
        lines = ["ImageID,Source,LabelName,Confidence"]
        images = _images(random, labels, (48, 40, 3), len(_OPEN_IMAGES_CLASSES))
        for number, (label, image) in enumerate(zip(labels, images, strict=True), first):
            image_id = f"{number:016x}"
            _write_jpeg(of_split / f"{image_id}.jpg", image)
            # One class that is there and one that is not; the others count as not there.
            absent = (label + 1) % len(_OPEN_IMAGES_CLASSES)
            lines += [
                f"{image_id},verification,{_OPEN_IMAGES_CLASSES[label]},1",
                f"{image_id},verification,{_OPEN_IMAGES_CLASSES[absent]},0",
            ]
        labels_file = folder / f"{split}-annotations-human-imagelabels.csv"
        labels_file.write_text("\n".join(lines) + "\n")
        first += size


def _write_jpeg(path: Path, image: npt.NDArray[np.uint8]) -> None:
    from PIL import Image

    Image.fromarray(image).save(path, "JPEG")


def _sentences(random: np.random.Generator, count: int) -> list[str]:
    return [" ".join(random.choice(words) for words in _SENTENCE) for _ in range(count)]


def write_lm1b(folder: Path) -> None:
    """Write the files of LM1B."""
    random = np.random.default_rng(_SEED)
    for name, count in _LM1B_SHARDS.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(_lines(_sentences(random, count)))


def write_common_crawl(folder: Path) -> None:
    """Write the files of Common Crawl."""
    random = np.random.default_rng(_SEED)
    pages = [_lines(_sentences(random, _SENTENCES_A_PAGE)) for _ in range(_PAGES)]
    records = [gzip.compress(_record(page.encode()), mtime=0) for page in pages]
    (folder / "made-up-00000.warc.wet.gz").write_bytes(b"".join(records))


def write_brown(folder: Path) -> None:
    """Write the files of the Brown corpus."""
    sentences = _sentences(np.random.default_rng(_SEED), _BROWN_SENTENCES)
    tagged = [" ".join(f"{word}/nn" for word in sentence.split()) for sentence in sentences]
    (folder / "ca01").write_text(_lines(tagged))


def _lines(sentences: Sequence[str]) -> str:
    return "".join(f"{sentence}\n" for sentence in sentences)


def _record(payload: bytes) -> bytes:
    header = (
        "WARC/1.0\r\n"
        "WARC-Type: conversion\r\n"
        "Content-Type: text/plain\r\n"
        f"Content-Length: {len(payload)}\r\n"
        "\r\n"
    )
    return header.encode() + payload + b"\r\n\r\n"
