"""Small data sets with known contents, and the official data sets."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest

from producers.datasets import SOURCES, Dataset, DataSource, load_dataset
from producers.datasets.forms import GREY_28
from producers.datasets.mnist.sources import DataFile
from tests.support.image_files import idx_bytes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


@dataclass(frozen=True)
class SmallDataset:
    """A source of 12 + 4 training and 5 test images of 28x28, and the contents of its files."""

    source: DataSource
    contents: dict[str, bytes]
    compressed: dict[str, bytes]

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in self.contents.items():
            (folder / name).write_bytes(content)
        return folder


def build_small(*arrays: np.ndarray) -> SmallDataset:
    """Of training images and labels, test images and labels."""
    names = [file.name for file in SOURCES["mnist"].files]
    contents = dict(zip(names, map(idx_bytes, arrays), strict=True))
    compressed = {name: gzip.compress(content, mtime=0) for name, content in contents.items()}
    files = tuple(
        DataFile(name=name, md5=md5(content), gzip_md5=md5(compressed[name]))
        for name, content in contents.items()
    )
    source = DataSource("small", files, official_examples=16)
    return SmallDataset(source=source, contents=contents, compressed=compressed)


@pytest.fixture
def make_small() -> Callable[..., SmallDataset]:
    return build_small


@pytest.fixture
def small() -> SmallDataset:
    """Every pixel of an image is its number, and its label the number modulo ten."""
    train, test = np.arange(16), np.arange(100, 105)
    images = [np.broadcast_to(each[:, None, None], (len(each), 28, 28)) for each in (train, test)]
    return build_small(images[0], train % 10, images[1], test % 10)


@pytest.fixture(scope="session")
def real(official_images: Path) -> dict[str, Dataset]:
    """The official data sets by name."""
    return {
        name: load_dataset(name, form=GREY_28, datasets_dir=official_images) for name in SOURCES
    }
