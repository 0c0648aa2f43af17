"""Networks of both papers whose layers follow one another: fully connected, simple CNNs and VGG."""

import itertools
import math
from collections.abc import Sequence
from functools import partial
from typing import Literal, Unpack

import jax
from flax import nnx

from producers.datasets.forms import ArrayForm, ImageForm
from producers.models.convolution import conv_general_dilated, convolution, max_pool_2x2
from producers.models.registry import LayerOptions

Padding = Literal["SAME", "VALID"]

_KERNEL = 5


class FullyConnected(nnx.Module):
    """ReLU layers of some widths and a linear layer, one logit a class or one number an output.

    Weights start LeCun normal, biases at zero (chosen).
    """

    def __init__(
        self, form: ImageForm | ArrayForm, widths: Sequence[int], **options: Unpack[LayerOptions]
    ) -> None:
        sizes = [math.prod(form.input_shape), *widths, *form.logits_shape]
        self.layers = nnx.List(nnx.Linear(*pair, **options) for pair in itertools.pairwise(sizes))

    def __call__(self, inputs: jax.Array, *, train: bool) -> jax.Array:
        """Return logits [batch, classes or outputs] of inputs, float32 [batch, ...]."""
        del train  # it makes no difference to this model
        activations = inputs.reshape(inputs.shape[0], -1)
        *hidden, last = self.layers
        for layer in hidden:
            activations = jax.nn.relu(layer(activations))
        logits: jax.Array = last(activations)
        return logits


class SimpleCNN(nnx.Module):
    """5x5 convolution, max-pool, 5x5 convolution, max-pool, dense layer, all ReLU, then logits.

    Weights start LeCun normal, biases at zero.

    Args:
        images: what they look like.
        channels: output channels of the two convolutions.
        dense: width of the dense layer; None for none.
        padding: SAME for zeros around the image that keep its size, VALID for none.
    """

    def __init__(
        self,
        images: ImageForm,
        channels: tuple[int, int],
        dense: int | None,
        padding: Padding,
        **options: Unpack[LayerOptions],
    ) -> None:
        first, second = channels
        layer = partial(
            nnx.Conv,
            kernel_size=(_KERNEL, _KERNEL),
            padding=padding,
            conv_general_dilated=conv_general_dilated,
            **options,
        )
        self.first = layer(images.channels, first)
        self.second = layer(first, second)
        sides = _pooled_twice(images.height, padding), _pooled_twice(images.width, padding)
        last = sides[0] * sides[1] * second
        self.dense = None if dense is None else nnx.Linear(last, dense, **options)
        self.logits = nnx.Linear(dense or last, images.classes, **options)

    def __call__(self, images: jax.Array, *, train: bool) -> jax.Array:
        """Return logits [batch, classes] of images, float32 [batch, height, width, channels]."""
        del train  # it makes no difference to this model
        activations = images
        # The largest of a square is the same before ReLU as after it, and ReLU then has less to do.
        activations = jax.nn.relu(max_pool_2x2(self.first(activations)))
        activations = jax.nn.relu(max_pool_2x2(self.second(activations)))
        activations = activations.reshape(activations.shape[0], -1)
        if self.dense is not None:
            activations = jax.nn.relu(self.dense(activations))
        logits: jax.Array = self.logits(activations)
        return logits


def _pooled_twice(side: int, padding: Padding) -> int:
    lost = _KERNEL - 1 if padding == "VALID" else 0
    return ((side - lost) // 2 - lost) // 2


class VGG(nnx.Module):
    """Stages of 3x3 convolutions, each followed by a max-pool; dense layers; all ReLU, then logits.

    A stage is the output channels of its convolutions, a dense layer its width. Weights start
    Glorot uniform, biases at zero (chosen by experiment).
    """

    def __init__(
        self,
        images: ImageForm,
        stages: Sequence[Sequence[int]],
        dense: Sequence[int],
        **options: Unpack[LayerOptions],
    ) -> None:
        self.stages = nnx.List[nnx.List[nnx.Conv]]()
        before = images.channels
        for stage in stages:
            channels = itertools.pairwise([before, *stage])
            self.stages.append(nnx.List(convolution(*pair, 3, **options) for pair in channels))
            before = stage[-1]
        shrunk = 2 ** len(stages)
        sizes = [images.height // shrunk * (images.width // shrunk) * before, *dense]
        layer = partial(nnx.Linear, kernel_init=nnx.initializers.glorot_uniform(), **options)
        self.dense = nnx.List(layer(*pair) for pair in itertools.pairwise(sizes))
        self.logits = layer(sizes[-1], images.classes)

    def __call__(self, images: jax.Array, *, train: bool) -> jax.Array:
        """Return logits [batch, classes] of images, float32 [batch, height, width, channels]."""
        del train  # it makes no difference to this model
        activations = images
        for stage in self.stages:
            *layers, last = stage
            for layer in layers:
                activations = jax.nn.relu(layer(activations))
            # The largest of a square is the same before ReLU as after it.
            activations = jax.nn.relu(max_pool_2x2(last(activations)))
        activations = activations.reshape(activations.shape[0], -1)
        for dense in self.dense:
            activations = jax.nn.relu(dense(activations))
        logits: jax.Array = self.logits(activations)
        return logits
