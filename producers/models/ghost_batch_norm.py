"""Ghost batch normalisation: statistics of small parts of a batch, whatever the batch's size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
from flax import nnx

from dbtool.core.errors import UsageError

if TYPE_CHECKING:
    from jax.typing import DTypeLike


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
