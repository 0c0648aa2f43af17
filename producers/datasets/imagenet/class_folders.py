"""Images in folders, one a class."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

import numpy as np

from dbtool.core.errors import DbtoolError, closest
from producers.datasets.folders import read_bytes
from producers.datasets.streamed import EncodedImage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy.typing as npt

_SUFFIXES = (".jpeg", ".jpg")


class ClassFolders:
    """The JPEG files of a folder of class folders: `ImageFiles`.

    Images are ordered by class and name. Files of other suffixes, and hidden ones, are no images.

    Args:
        folder: the folder that holds a folder a class.
        names: the classes in their order; by default the folders' names, sorted.
    """

    def __init__(self, folder: Path, names: Sequence[str] | None = None) -> None:
        found = class_names(folder)
        if not found:
            raise DbtoolError(
                f"{folder} holds no class folders; sort its images into a folder a class, named"
                " as in the training images"
            )
        self.names = tuple(names if names is not None else found)
        self.classes = len(self.names)
        self._folder = folder
        self._files: list[str] = []
        labels: list[int] = []
        for name in found:
            if name not in self.names:
                near = ", ".join(closest(name, self.names))
                raise DbtoolError(
                    f"{folder / name} is the folder of an unknown class; closest: {near}"
                )
            images = [file for file in _entries(folder / name) if file.lower().endswith(_SUFFIXES)]
            if not images:
                raise DbtoolError(
                    f"{folder / name} holds no JPEG files; fill the folder or remove it"
                )
            self._files += images
            labels += [self.names.index(name)] * len(images)
        self._labels = np.array(labels, np.int32)

    def __len__(self) -> int:
        return len(self._files)

    def labels(self) -> npt.NDArray[np.int32]:
        """The class of each image, from zero, int32 [images]."""
        return self._labels

    def digest(self) -> str:
        """A sha256 of the list of files, in hexadecimal."""
        named = zip(self._files, self._labels.tolist(), strict=True)
        lines = "".join(f"{self.names[label]}/{file}\n" for file, label in named)
        return hashlib.sha256(lines.encode(errors="surrogateescape")).hexdigest()

    def read(self, number: int) -> EncodedImage:
        """Reads an image's file."""
        label = int(self._labels[number])
        path = self._folder / self.names[label] / self._files[number]
        return EncodedImage(content=read_bytes(path), target=label, origin=str(path))


def class_names(folder: Path) -> list[str]:
    """The names of the folders in a folder that are not hidden, sorted; none when it is absent."""
    return [name for name in _entries(folder) if (folder / name).is_dir()]


def _entries(folder: Path) -> list[str]:
    """The names in a folder that are not hidden, sorted."""
    names = os.listdir(folder) if folder.is_dir() else []  # noqa: PTH208 (a million paths take seconds)
    return sorted(name for name in names if not name.startswith("."))
