"""Finds a model by its name: the one place that a new model is added to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbtool.errors import UsageError, unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from flax import nnx
    from jax.typing import DTypeLike

    from producers.datasets.forms import Form, ImageForm


@dataclass(frozen=True)
class ModelDefinition:
    """A model as a workload names it.

    Attributes:
        name: such as fc_64_64_64 or simple_cnn_base.
        settings: what sets the model apart, for the record: setting to value.
        certainty: setting to stated, recalled or chosen.
        evaluation_batch: examples evaluated at a time; sets the memory that evaluation takes,
            and suits the cache of a CPU core.
        build: makes the module for examples of a form, computing in a floating-point type with
            weights in float32; imports flax only when called. The module is called with float32
            images [batch, height, width, channels] or int32 tokens [batch, length] and `train`,
            and returns logits.
    """

    name: str
    settings: dict[str, object]
    certainty: dict[str, str]
    evaluation_batch: int
    build: Callable[[Form, DTypeLike, nnx.Rngs], nnx.Module]


# Widths of the two convolutions and of the dense layer.
_SIMPLE_CNN = {
    "simple_cnn_narrow": ((16, 32), 512),
    "simple_cnn_base": ((32, 64), 1024),
    "simple_cnn_wide": ((64, 128), 2048),
}


def model_definition(name: str) -> ModelDefinition:
    """The model of that name.

    Raises:
        UsageError: when there is none.
    """
    if re.fullmatch(r"fc(_[1-9][0-9]*)+", name):
        return _fully_connected(name, tuple(int(width) for width in name.split("_")[1:]))
    if name in _SIMPLE_CNN:
        return _simple_cnn(name, *_SIMPLE_CNN[name])
    raise unknown("model", name, ["fc_64_64_64", *_SIMPLE_CNN], "dbtool produce --list")


def _fully_connected(name: str, widths: tuple[int, ...]) -> ModelDefinition:
    def build(form: Form, dtype: DTypeLike, rngs: nnx.Rngs) -> nnx.Module:
        from producers.models.fully_connected import FullyConnected

        images = _images(name, form)
        inputs = images.height * images.width * images.channels
        return FullyConnected(inputs, widths, images.classes, dtype=dtype, rngs=rngs)

    return ModelDefinition(
        name,
        settings={"widths": list(widths), "activation": "relu", "initial_weights": "LeCun normal"},
        certainty={"widths": "stated", "activation": "stated", "initial_weights": "chosen"},
        evaluation_batch=500,
        build=build,
    )


def _simple_cnn(name: str, channels: tuple[int, int], dense: int) -> ModelDefinition:
    def build(form: Form, dtype: DTypeLike, rngs: nnx.Rngs) -> nnx.Module:
        from producers.models.simple_cnn import SimpleCNN

        images = _images(name, form)
        return SimpleCNN(
            images.height, images.channels, channels, dense, images.classes, dtype=dtype, rngs=rngs
        )

    return ModelDefinition(
        name,
        settings={
            "channels": list(channels),
            "kernel": 5,
            "pooling": "max 2x2",
            "padding": "SAME",
            "dense": dense,
            "activation": "relu",
            "initial_weights": "LeCun normal",
        },
        certainty={
            "channels": "recalled",
            "kernel": "recalled",
            "pooling": "recalled",
            "padding": "recalled",
            "dense": "recalled",
            "activation": "recalled",
            "initial_weights": "chosen",
        },
        evaluation_batch=50,
        build=build,
    )


def _images(model: str, form: Form) -> ImageForm:
    """The form, of images.

    Raises:
        UsageError: when it is of texts.
    """
    from producers.datasets.forms import ImageForm

    if isinstance(form, ImageForm):
        return form
    raise UsageError(f"the model {model} takes images, and the data set holds texts")
