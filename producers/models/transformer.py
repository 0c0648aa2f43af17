"""Decoder-only Transformers: each token predicted from those before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import jax
import numpy as np
from flax import nnx

if TYPE_CHECKING:
    from jax.typing import DTypeLike


@dataclass(frozen=True, slots=True)
class TransformerSizes:
    """The sizes of a Transformer.

    Attributes:
        layers: pairs of attention and feed-forward layer.
        width: of the embedding and of what layers return, even.
        hidden: width inside the feed-forward layers.
        heads: of the attention; they share the width.
    """

    layers: int
    width: int
    hidden: int
    heads: int


class Transformer(nnx.Module):
    """Embedding and sinusoidal positions, layers normalised before, logits by weights of their own.

    Attention needs no mask for padding: texts are padded at their end, where no token before can
    see it, and the logits at padding are of no target that counts.

    Args:
        vocabulary: number of different tokens, and of logits.
        sizes: of the layers.
        dtype: of the computation; weights are float32.
        rngs: source of the initial weights.
    """

    def __init__(
        self, vocabulary: int, sizes: TransformerSizes, *, dtype: DTypeLike, rngs: nnx.Rngs
    ) -> None:
        self.dtype = dtype
        # Of a variance of one after its scaling by the root of the width.
        self.embedding = nnx.Embed(
            vocabulary,
            sizes.width,
            embedding_init=nnx.initializers.normal(sizes.width**-0.5),
            rngs=rngs,
        )
        self.layers = nnx.List(_Layer(sizes, dtype=dtype, rngs=rngs) for _ in range(sizes.layers))
        self.norm = nnx.LayerNorm(sizes.width, dtype=dtype, rngs=rngs)
        self.logits = nnx.Linear(sizes.width, vocabulary, use_bias=False, dtype=dtype, rngs=rngs)

    def __call__(self, tokens: jax.Array, *, train: bool) -> jax.Array:
        """Logits of a batch.

        Args:
            tokens: int32 [batch, length], those before each target.
            train: whether this is a step of training.

        Returns:
            [batch, length, vocabulary].
        """
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

    def __init__(self, sizes: TransformerSizes, *, dtype: DTypeLike, rngs: nnx.Rngs) -> None:
        width, hidden = sizes.width, sizes.hidden
        self.attention_norm = nnx.LayerNorm(width, dtype=dtype, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(
            sizes.heads, width, use_bias=False, decode=False, dtype=dtype, rngs=rngs
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
    """Sines and cosines that tell positions apart (Vaswani et al., 2017, section 3.5).

    Returns:
        float32 [length, width]: sines of the position divided by 10000 ** (2i / width) at 2i, their
        cosines at 2i + 1.
    """
    angles = np.arange(length)[:, None] / 10_000 ** (np.arange(0, width, 2) / width)
    pairs = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
    return pairs.reshape(length, width).astype(np.float32)
