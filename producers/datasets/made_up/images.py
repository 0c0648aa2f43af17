"""Made-up images whose brightness tells their class, in the formats of the image data sets."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

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


def _images(
    random: np.random.Generator, labels: npt.NDArray[np.uint8], shape: tuple[int, ...], classes: int
) -> npt.NDArray[np.uint8]:
    """Noise around a grey level a class, uint8 [labels, *shape]."""
    level = (labels.astype(np.float64) + 0.5) / classes
    noise = random.normal(0.0, 0.1, (len(labels), *shape))
    light = level.reshape(-1, *[1] * len(shape)) + noise
    return np.round(255 * light.clip(0, 1)).astype(np.uint8)


def write_idx(folder: Path) -> None:
    """Writes IDX files of grey images, as MNIST has them."""
    random = np.random.default_rng(_SEED)
    for split, size in _IDX_SIZES.items():
        labels = np.arange(size, dtype=np.uint8) % _GREY_CLASSES
        images = _images(random, labels, (28, 28), _GREY_CLASSES)
        header = struct.pack(">4i", 0x00000803, *images.shape)
        (folder / f"{split}-images-idx3-ubyte").write_bytes(header + images.tobytes())
        header = struct.pack(">2i", 0x00000801, size)
        (folder / f"{split}-labels-idx1-ubyte").write_bytes(header + labels.tobytes())


def write_cifar_10(folder: Path) -> None:
    """Writes binary batches, as CIFAR-10 has them."""
    random = np.random.default_rng(_SEED)
    for name, size in _CIFAR_SIZES.items():
        labels = np.arange(size, dtype=np.uint8) % _GREY_CLASSES
        planes = _images(random, labels, (3, 32, 32), _GREY_CLASSES).reshape(size, -1)
        (folder / name).write_bytes(np.column_stack([labels, planes]).tobytes())


def write_imagenet(folder: Path) -> None:
    """Writes JPEG files in a folder a class, as ImageNet has them."""
    random = np.random.default_rng(_SEED)
    for split, size in _IMAGENET_SIZES.items():
        for label, name in enumerate(_IMAGENET_CLASSES):
            place = folder / split / name
            place.mkdir(parents=True, exist_ok=True)
            labels = np.full(size, label, np.uint8)
            images = _images(random, labels, (40, 48, 3), len(_IMAGENET_CLASSES))
            for number, image in enumerate(images):
                _write_jpeg(place / f"{name}_{number}.JPEG", image)


def write_open_images(folder: Path) -> None:
    """Writes JPEG files and their labels as CSV, as Open Images v4 has them."""
    random = np.random.default_rng(_SEED)
    (folder / "classes-trainable.txt").write_text("\n".join(_OPEN_IMAGES_CLASSES) + "\n")
    first = 1
    for split, size in _OPEN_IMAGES_SIZES.items():
        place = folder / "images" / split
        place.mkdir(parents=True, exist_ok=True)
        labels = np.arange(size, dtype=np.uint8) % len(_OPEN_IMAGES_CLASSES)
        lines = ["ImageID,Source,LabelName,Confidence"]
        images = _images(random, labels, (48, 40, 3), len(_OPEN_IMAGES_CLASSES))
        for number, (label, image) in enumerate(zip(labels, images, strict=True), first):
            image_id = f"{number:016x}"
            _write_jpeg(place / f"{image_id}.jpg", image)
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
