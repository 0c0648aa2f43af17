"""Images that memory holds: choosing some of them, and scaling them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from producers.datasets.forms import ImageForm
from producers.datasets.split import Dataset, Split

if TYPE_CHECKING:
    import numpy.typing as npt

    from producers.datasets.split import Examples


def take(split: Split, numbers: npt.NDArray[np.int64]) -> Split:
    """Some examples of a split, copied to read-only arrays."""
    images, labels = split.inputs[numbers], split.targets[numbers]
    images.setflags(write=False)
    labels.setflags(write=False)
    return Split(inputs=images, targets=labels)


def scaled(dataset: Dataset, form: ImageForm) -> Dataset:
    """A data set in memory whose images have a form's size and values, with its own classes."""
    found = dataset.form
    classes = found.classes if isinstance(found, ImageForm) else form.classes
    return replace(
        dataset,
        form=replace(form, classes=classes),
        train=_scaled(dataset.train, form),
        validation=_scaled(dataset.validation, form),
        test=_scaled(dataset.test, form),
    )


def _scaled(examples: Examples, form: ImageForm) -> Examples:
    """The images at the height and width of a form, scaled bilinearly where they have another."""
    size = (form.height, form.width)
    if not isinstance(examples, Split) or examples.inputs.shape[1:3] == size:
        return examples
    from PIL import Image

    inputs = np.empty((len(examples), *form.input_shape), np.uint8)
    for image, target in zip(examples.inputs, inputs, strict=True):
        resized = Image.fromarray(image).resize(size[::-1], Image.Resampling.BILINEAR)
        target[...] = np.asarray(resized)
    inputs.setflags(write=False)
    return Split(inputs=inputs, targets=examples.targets)
