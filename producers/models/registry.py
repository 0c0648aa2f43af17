"""Finds a model by its name: the one place that a new model is added to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from dbtool.errors import unknown
from producers.models.definition import ModelDefinition, images_for, texts_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flax import nnx
    from jax.typing import DTypeLike

    from producers.datasets.forms import Form

# Widths of the two convolutions and of the dense layer, and how sure these are.
_SIMPLE_CNN: dict[str, tuple[tuple[int, int], int | None, str]] = {
    "simple_cnn_narrow": ((16, 32), 512, "recalled"),
    "simple_cnn_base": ((32, 64), 1024, "recalled"),
    "simple_cnn_wide": ((64, 128), 2048, "recalled"),
    # That of the sparsity study, as the authors' program builds it.
    "simple_cnn": ((32, 64), None, "stated"),
}

# Layers, width, hidden width and heads, and how sure these are.
_TRANSFORMERS = {
    "transformer_base": ((6, 512, 2048, 8), "recalled"),
    "transformer_wide": ((6, 1024, 4096, 16), "chosen"),
    "transformer_shallow": ((2, 512, 2048, 8), "chosen"),
    "transformer_narrow_and_shallow": ((2, 256, 1024, 4), "chosen"),
    # Not of the papers: for laptops and small data sets.
    "transformer_tiny": ((2, 64, 256, 2), "chosen"),
}


def model_definition(name: str) -> ModelDefinition:
    """The model of that name.

    Raises:
        UsageError: when there is none.
    """
    if re.fullmatch(r"fc(_[1-9][0-9]*)+", name):
        return _fully_connected(name, tuple(int(width) for width in name.split("_")[1:]))
    if name not in _MODELS:
        raise unknown("model", name, ["fc_64_64_64", *_MODELS], "dbtool produce --list")
    return _MODELS[name]


def _fully_connected(name: str, widths: tuple[int, ...]) -> ModelDefinition:
    def build(form: Form, dtype: DTypeLike, rngs: nnx.Rngs) -> nnx.Module:
        from producers.models.fully_connected import FullyConnected

        images = images_for(name, form)
        inputs = images.height * images.width * images.channels
        return FullyConnected(inputs, widths, images.classes, dtype=dtype, rngs=rngs)

    return ModelDefinition(
        name,
        settings={"widths": list(widths), "activation": "relu", "initial_weights": "LeCun normal"},
        certainty={"widths": "stated", "activation": "stated", "initial_weights": "chosen"},
        evaluation_batch=500,
        build=build,
    )


def _simple_cnn(
    name: str, channels: tuple[int, int], dense: int | None, certainty: str
) -> ModelDefinition:
    padding: Literal["SAME", "VALID"] = "VALID" if dense is None else "SAME"
    # The smallest that leave a pixel after both convolutions and pools.
    smallest = 16 if dense is None else 4

    def build(form: Form, dtype: DTypeLike, rngs: nnx.Rngs) -> nnx.Module:
        from producers.models.simple_cnn import SimpleCNN

        images = images_for(name, form, smallest)
        size = images.height, images.width, images.channels
        layers = channels, dense, images.classes
        return SimpleCNN(*size, *layers, padding=padding, dtype=dtype, rngs=rngs)

    sized: dict[str, object] = {
        "channels": list(channels),
        "kernel": 5,
        "pooling": "max 2x2",
        "padding": padding,
        "dense": "none" if dense is None else dense,
        "activation": "relu",
    }
    initial = {"initial_weights": "LeCun normal"}
    if certainty == "stated":
        return _definition(name, 50, build, stated=sized | initial)
    return _definition(name, 50, build, recalled=sized, chosen=initial)


def _resnet_8() -> ModelDefinition:
    blocks = (16, 32, 64)

    def build(form: Form, dtype: DTypeLike, rngs: nnx.Rngs) -> nnx.Module:
        from producers.models.resnet_8 import ResNet8

        images = images_for("resnet_8", form, smallest=4)
        return ResNet8(images.channels, 16, blocks, images.classes, dtype=dtype, rngs=rngs)

    recalled = {
        "convolutions": 7,
        "kernel": 3,
        "first_channels": 16,
        "block_channels": list(blocks),
        "normalisation": "none",
        "activation": "relu before each convolution of a block and after the last block",
    }
    chosen = {
        "block_strides": [1, 2, 2],
        "shortcut": "where channels are new: activated inputs, 2x2 means, zeros in new channels",
        "padding": "SAME",
        "pooling": "mean over all positions",
        "biases": True,
        "initial_weights": "LeCun normal",
    }
    return _definition("resnet_8", 50, build, recalled=recalled, chosen=chosen)


def _resnet_50() -> ModelDefinition:
    blocks = (3, 4, 6, 3)

    def build(form: Form, dtype: DTypeLike, rngs: nnx.Rngs) -> nnx.Module:
        from producers.models.resnet_50 import BottleneckResNet

        images = images_for("resnet_50", form, smallest=32)
        size = images.channels, 64, blocks, images.classes
        return BottleneckResNet(*size, dtype=dtype, rngs=rngs)

    recalled = {
        "blocks": list(blocks),
        "block": "bottleneck",
        "activation": "normalisation and relu before each convolution of a block and the mean",
        "block_channels": [256, 512, 1024, 2048],
        "normalisation": "ghost batch normalisation",
        "ghost_batch": 32,
    }
    chosen = {
        "stride": "in the 3x3 convolution of a block",
        "shortcut": "1x1 convolution of activated inputs where the shape changes",
        "running_averages_momentum": 0.9,
        "running_averages_of": "the mean over the ghost batches of a step",
        "epsilon": 1e-5,
        "initial_weights": "He normal; LeCun normal for logits",
    }
    return _definition("resnet_50", 128, build, recalled=recalled, chosen=chosen)


def _vgg_11() -> ModelDefinition:
    stages = ((64,), (128,), (256, 256), (512, 512), (512, 512))
    dense = (4096, 4096)

    def build(form: Form, dtype: DTypeLike, rngs: nnx.Rngs) -> nnx.Module:
        from producers.models.vgg import VGG

        images = images_for("vgg_11", form, smallest=32)
        size = images.height, images.width, images.channels
        return VGG(*size, stages, dense, images.classes, dtype=dtype, rngs=rngs)

    recalled = {
        "configuration": "A",
        "stages": [list(stage) for stage in stages],
        "kernel": 3,
        "pooling": "max 2x2",
        "dense": list(dense),
        "activation": "relu",
        "normalisation": "none",
    }
    chosen = {
        "dropout": "none",
        "dense_inputs": "the last 7x7 positions; fewer for images under 224x224",
        "initial_weights": "He normal; LeCun normal for logits",
    }
    return _definition("vgg_11", 128, build, recalled=recalled, chosen=chosen)


def _transformer(name: str, sizes: tuple[int, int, int, int], certainty: str) -> ModelDefinition:
    def build(form: Form, dtype: DTypeLike, rngs: nnx.Rngs) -> nnx.Module:
        from producers.models.transformer import Transformer, TransformerSizes

        texts = texts_for(name, form)
        return Transformer(texts.vocabulary, TransformerSizes(*sizes), dtype=dtype, rngs=rngs)

    names = ("layers", "width", "hidden", "heads")
    sized: dict[str, object] = dict(zip(names, sizes, strict=True))
    chosen: dict[str, object] = {
        "normalisation": "of layers, before each and after the last",
        "positions": "sinusoidal",
        "activation": "relu",
        "attention_biases": False,
        "dropout": "none",
        "initial_weights": "LeCun normal; embedding normal with variance 1 / width",
    }
    recalled: dict[str, object] = {
        "decoder_only": True,
        "logits": "by a matrix of their own, without biases",
    }
    if certainty == "recalled":
        return _definition(name, 32, build, recalled=sized | recalled, chosen=chosen)
    return _definition(name, 32, build, recalled=recalled, chosen=sized | chosen)


def _lstm() -> ModelDefinition:
    sizes = {"embedding": 512, "cells": 2048, "projected": 512}

    def build(form: Form, dtype: DTypeLike, rngs: nnx.Rngs) -> nnx.Module:
        from producers.models.lstm import LSTMLanguageModel, LSTMSizes

        texts = texts_for("lstm", form)
        return LSTMLanguageModel(texts.vocabulary, LSTMSizes(**sizes), dtype=dtype, rngs=rngs)

    chosen = sizes | {
        "layers": 1,
        "projection": "recurs, and leads to the logits",
        "logits": "by weights of their own",
        "forget_gate_bias": 1.0,
        "dropout": "none",
        "initial_weights": "LeCun normal; embedding normal with variance 1",
    }
    return _definition("lstm", 32, build, chosen=chosen)


def _definition(
    name: str,
    evaluation_batch: int,
    build: Callable[[Form, DTypeLike, nnx.Rngs], nnx.Module],
    **settings: Mapping[str, object],
) -> ModelDefinition:
    """A model whose settings are given by how sure they are."""
    certainty = {setting: sure for sure, group in settings.items() for setting in group}
    together = {setting: value for group in settings.values() for setting, value in group.items()}
    return ModelDefinition(name, together, certainty, evaluation_batch, build)


_MODELS = {
    model.name: model
    for model in (
        *(_simple_cnn(name, *sizes) for name, sizes in _SIMPLE_CNN.items()),
        _resnet_8(),
        _resnet_50(),
        _vgg_11(),
        *(_transformer(name, *sizes) for name, sizes in _TRANSFORMERS.items()),
        _lstm(),
    )
}
