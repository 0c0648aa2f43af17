"""Images that are read from files and decoded when they are needed: the part that a model sees.

At evaluations it is the middle seven eighths of the largest box of the form's shape, as when the
shorter side is scaled to 256 and the middle 224 are kept. With augmentation the shorter side is
scaled to a random whole number from 256 to 512, 224 are cut out at random, and they are flipped
half of the time, as Simonyan and Zisserman (2014) trained (both recalled).
"""

import io
import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from PIL import Image

from dbtool.core.errors import DbtoolError
from producers.datasets.forms import ImageForm
from producers.datasets.split import Numbers, Split

Box = tuple[float, float, float, float]

# What is kept of the shorter side once it is scaled to one of these.
_KEPT = 224
_SIDE_AT_EVALUATION = 256
_SIDES_IN_TRAINING = (256, 512)

RANDOM_NUMBERS = 4
"""How many random numbers the augmentation of one image takes: flip, side, column and row."""

# Scaling by half or less at the end looks the same as scaling the whole image: without it, real
# photographs differ by up to 8 of 255 levels on average.
_DRAFT_GAP = 2
# ImageNet has a few PNG files under the names of JPEG files.
_FILE_FORMATS = ("JPEG", "PNG")


@dataclass(frozen=True, eq=False, slots=True)
class EncodedImage:
    """An image as its file holds it.

    Its target is its class from zero, or of several labels uint8 [classes], as a Split has them;
    its origin is the file, for errors.
    """

    content: bytes
    target: int | npt.NDArray[np.uint8]
    origin: str


class ImageFiles(Protocol):
    """Numbered image files with their targets; may be read from several threads at once."""

    def __len__(self) -> int: ...

    def read(self, number: int) -> EncodedImage:
        """Read the file of a number."""
        ...


@dataclass(frozen=True, eq=False, slots=True)
class StreamedImages:
    """Some of the images of files: an `ExampleSource`.

    Attributes:
        files: the files.
        numbers: those that belong to the split, int64, in the order of its examples.
        form: what the examples shall look like.
        renumbering: the new number of each class, int32; None where classes keep theirs.
    """

    files: ImageFiles
    numbers: Numbers
    form: ImageForm
    renumbering: npt.NDArray[np.int32] | None = None

    def __len__(self) -> int:
        return len(self.numbers)

    def read(self, examples: Numbers, augmentation: np.random.Generator | None) -> Split:
        """Read and decode some examples; see `ExampleSource`.

        Most of the work leaves other threads free to run. What an example looks like depends only
        on its number, its position among those read, and the generator.
        """
        form, count = self.form, len(examples)
        draws = None if augmentation is None else augmentation.random((count, RANDOM_NUMBERS))
        inputs = np.empty((count, *form.input_shape), np.uint8)
        targets: npt.NDArray[Any] = np.empty((count, *form.target_shape), form.target_dtype)
        for index, number in enumerate(self.numbers[examples].tolist()):
            image = self.files.read(number)
            kept = self.renumbering
            targets[index] = image.target if kept is None else kept[image.target]
            draw = None if draws is None else draws[index]
            inputs[index] = decode(image.content, image.origin, form, draw)
        return Split(inputs, targets).read_only()


def decode(
    content: bytes,
    origin: str,
    form: ImageForm,
    augmentation: npt.NDArray[np.float64] | None = None,
) -> npt.NDArray[np.uint8]:
    """Decode an image file and scale a part of it to a form's size.

    Args:
        content: the whole file: JPEG, or PNG, of any colours.
        origin: where it came from, for the error.
        form: the size wanted, in red, green and blue.
        augmentation: RANDOM_NUMBERS numbers from 0 to 1, without 1, that say which part; None for
            the middle.

    Returns:
        uint8 [height, width, 3].
    """
    size = (form.width, form.height)
    try:
        with Image.open(io.BytesIO(content), formats=_FILE_FORMATS) as image:
            box = _part(image.size, size, augmentation)
            box = _draft(image, size, box)
            part = image.convert("RGB").resize(size, Image.Resampling.BILINEAR, box=box)
    # A damaged header shows as any of these, whichever part of Pillow meets it first.
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise DbtoolError(
            f"{origin} is a damaged image ({_reason(error)}); replace or remove it"
        ) from error
    pixels = np.asarray(part)
    return pixels[:, ::-1] if augmentation is not None and augmentation[0] < 0.5 else pixels


def _draft(image: Image.Image, size: tuple[int, int], box: Box) -> Box:
    """Let a JPEG be decoded at a fraction of its size that is still large enough to scale down."""
    width, height = image.size
    needed = (
        math.ceil(_DRAFT_GAP * size[0] * width / (box[2] - box[0])),
        math.ceil(_DRAFT_GAP * size[1] * height / (box[3] - box[1])),
    )
    image.draft("RGB", needed)
    across, down = image.size[0] / width, image.size[1] / height
    # Rounding must not lead past the edge.
    right, bottom = min(box[2] * across, image.size[0]), min(box[3] * down, image.size[1])
    return box[0] * across, box[1] * down, right, bottom


def _part(
    image_size: tuple[int, int], size: tuple[int, int], augmentation: npt.NDArray[np.float64] | None
) -> Box:
    """Return the part of an image to keep: left, top, right, bottom in its pixels."""
    width, height = image_size
    shape = size[0] / size[1]
    side, across, down = _SIDE_AT_EVALUATION, 0.5, 0.5
    if augmentation is not None:
        _, at, across, down = augmentation.tolist()
        least, most = _SIDES_IN_TRAINING
        side = least + math.floor(at * (most - least + 1))
    box_width = _KEPT / side * min(width, height * shape)
    box_height = box_width / shape
    left, top = across * (width - box_width), down * (height - box_height)
    return left, top, left + box_width, top + box_height


def _reason(error: Exception) -> str:
    if "cannot identify image file" in str(error):
        return "neither JPEG nor PNG, or without a whole header"
    return (str(error).splitlines() or [type(error).__name__])[0]
