"""Residual networks: blocks normalise and activate before they convolve (He et al., 2016b).

Nothing follows the sum of a block. What the batch-size paper leaves open of the small network is as
in the sparsity study's program.
"""

from collections.abc import Sequence
from functools import partial
from typing import Unpack

import jax
import jax.numpy as jnp
from flax import nnx
from jax.typing import DTypeLike

from dbtool.core.errors import UsageError
from producers.datasets.forms import ImageForm
from producers.models.convolution import conv_general_dilated, convolution, mean_pool_2x2
from producers.models.registry import LayerOptions


class GhostBatchNorm(nnx.Module):
    """Normalises each channel over each ghost batch: so many consecutive examples of the batch.

    What it computes depends on the order of the examples in the batch only, never on the devices
    that share it (Hoffer et al., 2017). Means and variances are computed in float32.

    Evaluation uses running averages. One step of training makes of each

        momentum * old + (1 - momentum) * mean over the ghost batches,

    where the variance is that within a ghost batch (divided by its size, not by one less). This is
    linear in the ghost batches: where a batch passes through the model in parts, each of whole
    ghost batches and from the same old averages, the mean of the parts' new averages is that of the
    whole batch. `producers.training.step.Trainer.accumulated_gradient` relies on it.

    Args:
        channels: of the images.
        ghost_batch: examples of a ghost batch; a smaller batch is a single one.
        momentum: of the running averages.
        epsilon: added to variances.
        dtype: of the result; scale, bias and averages are float32.
    """

    def __init__(
        self,
        channels: int,
        *,
        ghost_batch: int = 32,
        momentum: float = 0.9,
        epsilon: float = 1e-5,
        dtype: DTypeLike,
    ) -> None:
        self.ghost_batch = ghost_batch
        self.momentum = momentum
        self.epsilon = epsilon
        self.dtype = dtype
        self.scale = nnx.Param(jnp.ones(channels, jnp.float32))
        self.bias = nnx.Param(jnp.zeros(channels, jnp.float32))
        self.mean = nnx.BatchStat(jnp.zeros(channels, jnp.float32))
        self.variance = nnx.BatchStat(jnp.ones(channels, jnp.float32))

    def __call__(self, images: jax.Array, *, train: bool) -> jax.Array:
        """Return normalised images [batch, height, width, channels], in the computation's dtype.

        A step of training normalises by each ghost batch and updates the running averages; an
        evaluation normalises by these.
        """
        if not train:
            return self._normalised(images, self.mean[...], self.variance[...])
        ghosts = images.reshape(self._ghost_batches(images.shape[0]), -1, *images.shape[1:])
        values = ghosts.astype(jnp.float32)
        axes = (1, 2, 3)
        mean = values.mean(axes, keepdims=True)
        # One pass over the images computes both means; rounding can make the difference negative.
        variance = jnp.square(values).mean(axes, keepdims=True) - jnp.square(mean)
        variance = jnp.maximum(variance, 0.0)
        for average, of_ghosts in ((self.mean, mean), (self.variance, variance)):
            new = of_ghosts.mean((0, 1, 2, 3))
            average[...] = self.momentum * average[...] + (1 - self.momentum) * new
        return self._normalised(ghosts, mean, variance).reshape(images.shape)

    def _ghost_batches(self, batch: int) -> int:
        if batch <= self.ghost_batch:
            return 1
        if batch % self.ghost_batch:
            raise UsageError(
                f"{batch} examples at a time cannot be divided into ghost batches of "
                f"{self.ghost_batch} for batch normalisation; choose a batch size, and a "
                f"micro-batch where one is given, of at most {self.ghost_batch} or a multiple of it"
            )
        return batch // self.ghost_batch

    def _normalised(self, images: jax.Array, mean: jax.Array, variance: jax.Array) -> jax.Array:
        """Normalise images by a mean and variance that broadcast with them; scale and bias them."""
        factor = jax.lax.rsqrt(variance + self.epsilon) * self.scale[...]
        centred = images.astype(jnp.float32) - mean
        return (centred * factor + self.bias[...]).astype(self.dtype)


EXPANSION = 4
"""Channels that a block returns for each that its 3x3 convolution has."""


class BottleneckResNet(nnx.Module):
    """A 7x7 convolution, max-pool, stages of bottleneck blocks, the mean over positions, logits.

    The first convolution, the pooling and every stage but the first halve the size of the image.
    A normalisation and ReLU come before the mean, as before every convolution but the first.
    Convolutions have no bias. Weights start Glorot uniform (chosen by experiment), as the logits of
    the release do: with the running averages of a start, 0 and 1, they are small.

    Args:
        images: what they look like.
        channels: of the first convolution, and of the 3x3 convolutions of the first stage; every
            further stage has twice those of the one before.
        blocks: how many each stage has.

    Attributes:
        remat: whether activations are computed again in the backward pass instead of kept.
    """

    remat = False

    def __init__(
        self,
        images: ImageForm,
        channels: int,
        blocks: Sequence[int],
        **options: Unpack[LayerOptions],
    ) -> None:
        self.first = convolution(images.channels, channels, 7, stride=2, use_bias=False, **options)
        self.blocks = nnx.List[_Bottleneck]()
        before = channels
        for stage, count in enumerate(blocks):
            for block in range(count):
                stride = 2 if block == 0 and stage > 0 else 1
                inner = channels * 2**stage
                self.blocks.append(_Bottleneck(before, inner, stride, **options))
                before = inner * EXPANSION
        self.last_norm = GhostBatchNorm(before, dtype=options["dtype"])
        initial = nnx.initializers.glorot_uniform()
        self.logits = nnx.Linear(before, images.classes, kernel_init=initial, **options)

    def __call__(self, images: jax.Array, *, train: bool) -> jax.Array:
        """Return logits [batch, classes] of images, float32 [batch, height, width, channels]."""
        activations = self.first(images)
        activations = nnx.max_pool(activations, (3, 3), strides=(2, 2), padding=((1, 1), (1, 1)))

        def through(block: _Bottleneck, activations: jax.Array) -> jax.Array:
            return block(activations, train=train)

        for block in self.blocks:
            activations = (nnx.remat(through) if self.remat else through)(block, activations)
        activations = jax.nn.relu(self.last_norm(activations, train=train))
        logits: jax.Array = self.logits(activations.mean((1, 2)))
        return logits


class _Bottleneck(nnx.Module):
    """1x1, 3x3 and 1x1 convolutions whose result is added to the block's inputs.

    Where the shape changes, a 1x1 convolution of the activated inputs takes their place.
    """

    def __init__(
        self, before: int, inner: int, stride: int, **options: Unpack[LayerOptions]
    ) -> None:
        after, dtype = inner * EXPANSION, options["dtype"]
        layer = partial(convolution, use_bias=False, **options)
        self.narrow_norm = GhostBatchNorm(before, dtype=dtype)
        self.narrow = layer(before, inner, 1)
        self.middle_norm = GhostBatchNorm(inner, dtype=dtype)
        self.middle = layer(inner, inner, 3, stride=stride)
        self.widen_norm = GhostBatchNorm(inner, dtype=dtype)
        self.widen = layer(inner, after, 1)
        self.has_projection = stride > 1 or before != after
        if self.has_projection:
            self.shortcut = layer(before, after, 1, stride=stride)

    def __call__(self, images: jax.Array, *, train: bool) -> jax.Array:
        activated = jax.nn.relu(self.narrow_norm(images, train=train))
        added = jax.nn.relu(self.middle_norm(self.narrow(activated), train=train))
        added = jax.nn.relu(self.widen_norm(self.middle(added), train=train))
        shortcut = self.shortcut(activated) if self.has_projection else images
        return shortcut + self.widen(added)


class ResNet8(nnx.Module):
    """A 3x3 convolution, blocks of two, ReLU, the mean over positions, then logits.

    The first block works at the size of the image, every further one at half of that before it.
    With three blocks it has seven convolutions and a dense layer. Weights start LeCun normal,
    biases at zero. The first convolution has `channels`, each block its own.
    """

    def __init__(
        self,
        images: ImageForm,
        channels: int,
        blocks: Sequence[int],
        **options: Unpack[LayerOptions],
    ) -> None:
        self.first = _convolution_3x3(images.channels, channels, **options)
        widths = [channels, *blocks]
        self.blocks = nnx.List(
            _Block(before, after, 1 if index == 0 else 2, **options)
            for index, (before, after) in enumerate(zip(widths, blocks, strict=False))
        )
        self.logits = nnx.Linear(widths[-1], images.classes, **options)

    def __call__(self, images: jax.Array, *, train: bool) -> jax.Array:
        """Return logits [batch, classes] of images, float32 [batch, height, width, channels]."""
        del train  # it makes no difference to this model
        activations = self.first(images)
        for block in self.blocks:
            activations = block(activations)
        logits: jax.Array = self.logits(jax.nn.relu(activations).mean((1, 2)))
        return logits


class _Block(nnx.Module):
    """Two 3x3 convolutions, each of activated inputs, whose result is added to the block's inputs.

    Where a block has more channels than its inputs, the activated inputs take their place, the mean
    of every 2x2 square where it halves the image, and the new channels are zero.
    """

    def __init__(
        self, before: int, after: int, stride: int, **options: Unpack[LayerOptions]
    ) -> None:
        self.halves = stride == 2
        self.new_channels = after - before
        self.first = _convolution_3x3(before, after, strides=stride, **options)
        self.second = _convolution_3x3(after, after, **options)

    def __call__(self, images: jax.Array) -> jax.Array:
        activated = jax.nn.relu(images)
        added = self.second(jax.nn.relu(self.first(activated)))
        if not self.halves and not self.new_channels:
            return images + added
        shortcut = mean_pool_2x2(activated) if self.halves else activated
        return jnp.pad(shortcut, ((0, 0), (0, 0), (0, 0), (0, self.new_channels))) + added


_convolution_3x3 = partial(
    nnx.Conv, kernel_size=(3, 3), padding="SAME", conv_general_dilated=conv_general_dilated
)
