"""A split of images that are read from files and decoded when they are needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from producers.datasets.split import Split
from producers.datasets.streamed.decode import RANDOM_NUMBERS, decode

if TYPE_CHECKING:
    import numpy.typing as npt

    from producers.datasets.forms import ImageForm


@dataclass(frozen=True, eq=False, slots=True)
class EncodedImage:
    """An image as its file holds it.

    Attributes:
        content: the whole file.
        target: its class from zero; or of several labels uint8 [classes], as a Split has them.
        origin: the file, for errors.
    """

    content: bytes
    target: int | npt.NDArray[np.uint8]
    origin: str


class ImageFiles(Protocol):
    """Numbered image files with their targets; may be read from several threads at once."""

    def __len__(self) -> int: ...

    def read(self, number: int) -> EncodedImage:
        """Reads the file of a number.

        Raises:
            DbtoolError: it is damaged or gone.
        """
        ...


class StreamedImages:
    """Some of the images of files: an `ExampleSource`.

    Args:
        files: the files.
        numbers: those that belong to the split, int64, in the order of its examples.
        form: what the examples shall look like.
        renumbering: the new number of each class, int32; None where classes keep theirs.
    """

    def __init__(
        self,
        files: ImageFiles,
        numbers: npt.NDArray[np.int64],
        form: ImageForm,
        renumbering: npt.NDArray[np.int32] | None = None,
    ) -> None:
        self._files = files
        self._numbers = numbers
        self._form = form
        self._renumbering = renumbering

    def __len__(self) -> int:
        return len(self._numbers)

    def read(
        self, examples: npt.NDArray[np.int64], augmentation: np.random.Generator | None
    ) -> Split:
        """Reads and decodes some examples; may be called from several threads at once.

        Most of the work leaves other threads free to run. What an example looks like depends only
        on its number, its place among those read, and the generator.

        Args:
            examples: their numbers, in the order wanted.
            augmentation: draws random crops and flips; None for the middle of each image.

        Raises:
            DbtoolError: a file is damaged or gone.
        """
        form, count = self._form, len(examples)
        draws = None if augmentation is None else augmentation.random((count, RANDOM_NUMBERS))
        inputs = np.empty((count, *form.input_shape), np.uint8)
        targets: npt.NDArray[Any] = (
            np.empty((count, form.classes), np.uint8) if form.multi_label else np.empty(count, "i4")
        )

        for place, number in enumerate(self._numbers[examples].tolist()):
            image = self._files.read(number)
            targets[place] = self._target(image.target)
            draw = None if draws is None else draws[place]
            inputs[place] = decode(image.content, image.origin, form, draw)
        inputs.setflags(write=False)
        targets.setflags(write=False)
        return Split(inputs=inputs, targets=targets)

    def _target(self, target: int | npt.NDArray[np.uint8]) -> Any:
        return target if self._renumbering is None else self._renumbering[target]
