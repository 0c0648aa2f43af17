"""Every model by its name: what sets it apart, and how it is built; a new model is added here."""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypedDict

from dbtool.core.errors import UsageError, unknown
from producers.datasets.forms import ArrayForm, Form, ImageForm, TextForm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flax import nnx
    from jax.typing import DTypeLike

    Build = Callable[[Form, DTypeLike, nnx.Rngs], nnx.Module]

_LISTING = "dbtool produce --list"


class LayerOptions(TypedDict):
    """What every layer of a model is made with: the type it computes in, and random numbers."""

    dtype: DTypeLike
    rngs: nnx.Rngs


@dataclass(frozen=True)
class ModelDefinition:
    """A model as a workload names it.

    Attributes:
        name: such as fc_64_64_64 or simple_cnn_base.
        build: makes the module for examples of a form, computing in a floating-point type with
            weights in float32; imports flax only when called. The module is called with float32
            images [batch, height, width, channels] or int32 tokens [batch, length] and `train`,
            and returns logits. Raises UsageError for a form that the model does not take.
        evaluation_batch: examples evaluated at a time; sets the memory that evaluation takes,
            and suits the cache of a CPU core.
        settings: what sets the model apart, for the record: setting to value.
        certainty: setting to stated, recalled or chosen.
        divisor: examples of training that pass through the model at a time are at most so many, or
            a multiple of them: those that are normalised together.
        remat: whether modules of it have an attribute `remat`, which is set to compute activations
            again in the backward pass instead of keeping them.
    """

    name: str
    build: Build
    evaluation_batch: int = 100
    settings: dict[str, object] = field(default_factory=dict)
    certainty: dict[str, str] = field(default_factory=dict)
    divisor: int = 1
    remat: bool = False


# Widths of the two convolutions and of the dense layer, and how sure these are.
_SIMPLE_CNN: dict[str, tuple[tuple[int, int], int | None, str]] = {
    "simple_cnn_narrow": ((16, 32), 512, "recalled"),
    "simple_cnn_base": ((32, 64), 1024, "recalled"),
    "simple_cnn_wide": ((64, 128), 2048, "recalled"),
    # That of the sparsity study, as the authors' program builds it.
    "simple_cnn": ((32, 64), None, "stated"),
}

# Layers, width, width inside the feed-forward layers and heads, and how sure these are.
_TRANSFORMERS = {
    "transformer_base": ((6, 512, 2048, 8), "recalled"),
    "transformer_wide": ((6, 1024, 4096, 16), "chosen"),
    "transformer_shallow": ((2, 512, 2048, 8), "chosen"),
    "transformer_narrow_and_shallow": ((2, 256, 1024, 4), "chosen"),
    # Not of the papers: for laptops and small data sets.
    "transformer_tiny": ((2, 64, 256, 2), "chosen"),
}


FULLY_CONNECTED = re.compile(r"fc(_[1-9][0-9]*)+")
"""The names of fully connected networks: the widths of their hidden layers."""


def model_definition(name: str) -> ModelDefinition:
    """Return the model of that name."""
    if FULLY_CONNECTED.fullmatch(name):
        return _fully_connected(name, tuple(int(width) for width in name.split("_")[1:]))
    if name not in MODELS:
        raise unknown("model", name, ["fc_64_64_64", *MODELS], _LISTING)
    return MODELS[name]


def _fully_connected(name: str, widths: tuple[int, ...]) -> ModelDefinition:
    stated = {"widths": list(widths), "activation": "relu"}
    takes = (ImageForm, ArrayForm)
    build = _building(name, "feed_forward.FullyConnected", takes, widths=widths)
    return _definition(name, 500, build, stated=stated, chosen={"initial_weights": "LeCun normal"})


def _simple_cnn(
    name: str, channels: tuple[int, int], dense: int | None, certainty: str
) -> ModelDefinition:
    padding = "VALID" if dense is None else "SAME"
    # The smallest that leave a pixel after both convolutions and pools.
    smallest = 16 if dense is None else 4
    sizes = {"channels": channels, "dense": dense, "padding": padding}
    build = _building(name, "feed_forward.SimpleCNN", (ImageForm,), smallest, **sizes)
    sized = {
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
    build = _building("resnet_8", "residual.ResNet8", (ImageForm,), 4, channels=16, blocks=blocks)
    return _definition("resnet_8", 50, build, recalled=recalled, chosen=chosen)


# ResNet-50 starts at a cross entropy of 6.9095 on ImageNet in the release, of 1,000 classes alike
# 6.9078: its logits have a deviation of 0.06, as these give images that are standardised.
_SMALL_LOGITS: dict[str, dict[str, object]] = {
    "chosen by experiment": {"initial_weights": "Glorot uniform"}
}


def _resnet_50() -> ModelDefinition:
    blocks = (3, 4, 6, 3)
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
    }
    build = _building(
        "resnet_50", "residual.BottleneckResNet", (ImageForm,), 32, channels=64, blocks=blocks
    )
    definition = _definition(
        "resnet_50", 128, build, recalled=recalled, chosen=chosen, **_SMALL_LOGITS
    )
    return replace(definition, divisor=32, remat=True)


def _vgg_11() -> ModelDefinition:
    stages = ((64,), (128,), (256, 256), (512, 512), (512, 512))
    dense = (4096, 4096)
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
    }
    build = _building("vgg_11", "feed_forward.VGG", (ImageForm,), 32, stages=stages, dense=dense)
    return _definition("vgg_11", 128, build, recalled=recalled, chosen=chosen, **_SMALL_LOGITS)


def _transformer(name: str, sizes: tuple[int, int, int, int], certainty: str) -> ModelDefinition:
    sized = dict(zip(("layers", "width", "hidden", "heads"), sizes, strict=True))
    settings: dict[str, dict[str, object]] = {
        "recalled": {"decoder_only": True, "logits": "by a matrix of their own, without biases"},
        "chosen": {
            "normalisation": "of layers, before each and after the last",
            "positions": "sinusoidal",
            "activation": "relu",
            "attention_biases": False,
            "dropout": "none",
            "initial_weights": "LeCun normal; embedding normal with variance 1 / width",
        },
    }
    settings[certainty] = sized | settings[certainty]
    build = _building(name, "language.Transformer", (TextForm,), **sized)
    return replace(_definition(name, 32, build, **settings), remat=True)


def _lstm() -> ModelDefinition:
    recalled = {"embedding": 1024, "logits": "by a matrix of their own, without biases"}
    sizes = {"cells": 2048, "projected": 512}
    chosen = sizes | {
        "layers": 1,
        "projection": "recurs, and leads to the logits",
        "forget_gate_bias": 1.0,
        "dropout": "none",
        "initial_weights": "LeCun normal; embedding normal with variance 1",
    }
    build = _building(
        "lstm", "language.LSTMLanguageModel", (TextForm,), embedding=recalled["embedding"], **sizes
    )
    return replace(_definition("lstm", 32, build, recalled=recalled, chosen=chosen), remat=True)


_CONTENTS = {ImageForm: "images", TextForm: "texts", ArrayForm: "arrays of numbers"}


def _building(
    name: str, path: str, takes: tuple[type[Form], ...], smallest: int = 1, **sizes: object
) -> Build:
    """Build a model for some forms, of images whose sides have so many pixels at least."""
    wanted = _CONTENTS[takes[0]]

    def build(form: Form, dtype: DTypeLike, rngs: nnx.Rngs) -> nnx.Module:
        if not isinstance(form, takes):
            raise UsageError(
                f"the model {name} takes {wanted}, and the data set holds {_CONTENTS[type(form)]}; "
                f"choose a workload whose model takes these (list them with `{_LISTING}`)"
            )
        if isinstance(form, ImageForm) and min(form.height, form.width) < smallest:
            raise UsageError(
                f"the model {name} takes images of at least {smallest}x{smallest} pixels, and "
                f"those of the data set have {form.height}x{form.width}; choose larger images or "
                f"another workload (list them with `{_LISTING}`)"
            )
        module, _, class_name = path.partition(".")
        # Imported here, so that its settings can be read without flax.
        model = getattr(importlib.import_module(f"producers.models.{module}"), class_name)
        examples = form.vocabulary if isinstance(form, TextForm) else form
        built: nnx.Module = model(examples, **sizes, dtype=dtype, rngs=rngs)
        return built

    return build


def _definition(
    name: str, evaluation_batch: int, build: Build, **settings: Mapping[str, object]
) -> ModelDefinition:
    certainty = {setting: sure for sure, group in settings.items() for setting in group}
    together = {setting: value for group in settings.values() for setting, value in group.items()}
    return ModelDefinition(name, build, evaluation_batch, together, certainty)


MODELS = {
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
"""All others by name."""
