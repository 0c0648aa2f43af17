"""Images in folders, one a class."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

import numpy as np

from dbtool.errors import DbtoolError, closest
from producers.datasets.streamed.images import EncodedImage

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
        classes: the classes in their order; by default the folders' names, sorted.

    Raises:
        DbtoolError: the folder holds no class folder, or one that is empty or none of the classes.
    """

    def __init__(self, folder: Path, classes: Sequence[str] | None = None) -> None:
        found = class_names(folder)
        if not found:
            raise DbtoolError(
                f"{folder} holds no class folders; sort its images into a folder a class, named"
                " as in the training images"
            )
        self.classes = tuple(classes if classes is not None else found)
        self._folder = folder
        self._names: list[str] = []
        labels = []
        for name in found:
            if name not in self.classes:
                near = ", ".join(closest(name, self.classes))
                raise DbtoolError(
                    f"{folder / name} is the folder of an unknown class; closest: {near}"
                )
            images = sorted(_images(folder, name))
            if not images:
                raise DbtoolError(
                    f"{folder / name} holds no JPEG files; fill the folder or remove it"
                )
            self._names += images
            labels.append(np.full(len(images), self.classes.index(name), np.int32))
        self._labels = np.concatenate(labels)

    def __len__(self) -> int:
        return len(self._names)

    def labels(self) -> npt.NDArray[np.int32]:
        """The class of each image, from zero, int32 [images]."""
        return self._labels

    def digest(self) -> str:
        """A sha256 of the list of files, in hexadecimal."""
        names = (f"{self.classes[label]}/{name}\n" for name, label in self._named())
        return hashlib.sha256("".join(names).encode(errors="surrogateescape")).hexdigest()

    def read(self, number: int) -> EncodedImage:
        """Reads an image's file.

        Raises:
            DbtoolError: the file cannot be read.
        """
        label = int(self._labels[number])
        path = self._folder / self.classes[label] / self._names[number]
        try:
            content = path.read_bytes()
        except OSError as error:
            raise DbtoolError(f"{path} cannot be read: {error.strerror}") from error
        return EncodedImage(content=content, target=label, origin=str(path))

    def _named(self) -> zip[tuple[str, int]]:
        return zip(self._names, self._labels.tolist(), strict=True)


def class_names(folder: Path) -> list[str]:
    """The names of the folders in a folder that are not hidden, sorted; none when it is absent."""
    if not folder.is_dir():
        return []
    with os.scandir(folder) as entries:
        return sorted(
            entry.name for entry in entries if entry.is_dir() and not entry.name.startswith(".")
        )


def _images(folder: Path, name: str) -> list[str]:
    """The names of the images of a class."""
    with os.scandir(folder / name) as entries:
        return [
            entry.name
            for entry in entries
            if entry.name.lower().endswith(_SUFFIXES) and not entry.name.startswith(".")
        ]
