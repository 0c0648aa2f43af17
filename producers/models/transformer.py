"""Decoder-only Transformers: each token predicted from those before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import numpy as np
from flax import nnx

if TYPE_CHECKING:
    from jax.typing import DTypeLike


class Transformer(nnx.Module):
    """Embedding and sinusoidal positions, layers normalised before, logits by weights of their own.

    Attention needs no mask for padding: texts are padded at their end, where no token before can
    see it, and the logits at padding are of no target that counts.

    Args:
        vocabulary: number of different tokens, and of logits.
        layers: pairs of attention and feed-forward layer.
        width: of the embedding and of what layers return, even.
        hidden: width inside the feed-forward layers.
        heads: of the attention; they share the width.
    """

    def __init__(
        self,
        vocabulary: int,
        layers: int,
        width: int,
        hidden: int,
        heads: int,
        *,
        dtype: DTypeLike,
        rngs: nnx.Rngs,
    ) -> None:
        self.dtype = dtype
        # Of a variance of one after its scaling by the root of the width.
        initial = nnx.initializers.normal(width**-0.5)
        self.embedding = nnx.Embed(vocabulary, width, embedding_init=initial, rngs=rngs)
        self.layers = nnx.List(
            _Layer(width, hidden, heads, dtype=dtype, rngs=rngs) for _ in range(layers)
        )
        self.norm = nnx.LayerNorm(width, dtype=dtype, rngs=rngs)
        self.logits = nnx.Linear(width, vocabulary, use_bias=False, dtype=dtype, rngs=rngs)

    def __call__(self, tokens: jax.Array, *, train: bool) -> jax.Array:
        """Logits [batch, length, vocabulary] of the tokens before each target."""
        del train  # it makes no difference to this model
        length, width = tokens.shape[1], self.embedding.features
        # Looked up in float32, so that the gradients of frequent tokens add up in float32.
        embedded = self.embedding(tokens) * width**0.5 + sinusoidal_positions(length, width)
        activations = embedded.astype(self.dtype)
        for layer in self.layers:
            activations = layer(activations)
        logits: jax.Array = self.logits(self.norm(activations))
        return logits


class _Layer(nnx.Module):
    """Causal attention, then a feed-forward layer; each is added to its inputs."""

    def __init__(
        self, width: int, hidden: int, heads: int, *, dtype: DTypeLike, rngs: nnx.Rngs
    ) -> None:
        self.attention_norm = nnx.LayerNorm(width, dtype=dtype, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(
            heads, width, use_bias=False, decode=False, dtype=dtype, rngs=rngs
        )
        self.feed_forward_norm = nnx.LayerNorm(width, dtype=dtype, rngs=rngs)
        self.widen = nnx.Linear(width, hidden, dtype=dtype, rngs=rngs)
        self.narrow = nnx.Linear(hidden, width, dtype=dtype, rngs=rngs)

    def __call__(self, activations: jax.Array) -> jax.Array:
        normalised = self.attention_norm(activations)
        activations += self.attention(normalised, is_causal=True)
        normalised = self.feed_forward_norm(activations)
        return activations + self.narrow(jax.nn.relu(self.widen(normalised)))


def sinusoidal_positions(length: int, width: int) -> np.ndarray:
    """Sines and cosines in turn, of ever longer waves, float32 [length, width]."""
    angles = np.arange(length)[:, None] / 10_000 ** (np.arange(0, width, 2) / width)
    pairs = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
    return pairs.reshape(length, width).astype(np.float32)
