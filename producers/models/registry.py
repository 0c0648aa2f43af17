"""Finds a model by its name: the one place that a new model is added to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbtool.errors import unknown

if TYPE_CHECKING:
    from collections.abc import Callable

    from flax import nnx

IMAGE_SIZE = 28
CLASSES = 10


@dataclass(frozen=True)
class ModelDefinition:
    """A model as a workload names it.

    Attributes:
        name: such as fc_64_64_64 or simple_cnn_base.
        settings: what sets the model apart, for the record: setting to value.
        certainty: setting to stated, recalled or chosen.
        evaluation_batch: examples evaluated at a time; sets the memory that evaluation takes,
            and suits the cache of a CPU core.
        build: makes the module; imports flax only when called.
    """

    name: str
    settings: dict[str, object]
    certainty: dict[str, str]
    evaluation_batch: int
    build: Callable[[nnx.Rngs], nnx.Module]


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
    def build(rngs: nnx.Rngs) -> nnx.Module:
        from producers.models.fully_connected import FullyConnected

        return FullyConnected(IMAGE_SIZE**2, widths, CLASSES, rngs=rngs)

    return ModelDefinition(
        name,
        settings={"widths": list(widths), "activation": "relu", "initial_weights": "LeCun normal"},
        certainty={"widths": "stated", "activation": "stated", "initial_weights": "chosen"},
        evaluation_batch=500,
        build=build,
    )


def _simple_cnn(name: str, channels: tuple[int, int], dense: int) -> ModelDefinition:
    def build(rngs: nnx.Rngs) -> nnx.Module:
        from producers.models.simple_cnn import SimpleCNN

        return SimpleCNN(IMAGE_SIZE, channels, dense, CLASSES, rngs=rngs)

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
