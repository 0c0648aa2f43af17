"""Blocks of a model whose activations are computed again in the backward pass to save memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flax import nnx

if TYPE_CHECKING:
    import jax


def through(block: nnx.Module, activations: jax.Array, *, remat: bool, **words: Any) -> jax.Array:
    """Return what a block, which may update what it holds, makes of activations and `words`.

    With `remat`, its own activations are computed again in the backward pass instead of kept.
    """

    def call(block: Any, activations: jax.Array) -> jax.Array:
        result: jax.Array = block(activations, **words)
        return result

    return (nnx.remat(call) if remat else call)(block, activations)
