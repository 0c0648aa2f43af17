"""Language models: decoder-only Transformers, and a long short-term memory with projection."""

from functools import partial
from typing import Unpack

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax.typing import DTypeLike

from producers.models.registry import LayerOptions

Carry = tuple[jax.Array, jax.Array]


class LanguageModel(nnx.Module):
    """Features of every position, and logits of these alone, by weights of their own.

    Attributes:
        logits: from features to logits [..., vocabulary].
        remat: whether activations are computed again in the backward pass instead of kept.
    """

    logits: nnx.Linear
    remat = False

    def __call__(self, tokens: jax.Array, *, train: bool) -> jax.Array:
        """Return logits [batch, length, vocabulary] of the tokens before each target."""
        del train  # it makes no difference to these models
        logits: jax.Array = self.logits(self.features(tokens))
        return logits

    def features(self, tokens: jax.Array) -> jax.Array:
        """Return features [batch, length, width] of the tokens before each target."""
        raise NotImplementedError


class Transformer(LanguageModel):
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
        **options: Unpack[LayerOptions],
    ) -> None:
        self.dtype, rngs = options["dtype"], options["rngs"]
        # Of a variance of one after its scaling by the root of the width.
        initial = nnx.initializers.normal(width**-0.5)
        self.embedding = nnx.Embed(vocabulary, width, embedding_init=initial, rngs=rngs)
        self.layers = nnx.List(_Layer(width, hidden, heads, **options) for _ in range(layers))
        self.norm = nnx.LayerNorm(width, **options)
        self.logits = nnx.Linear(width, vocabulary, use_bias=False, **options)

    def features(self, tokens: jax.Array) -> jax.Array:
        """Return features [batch, length, width] of the tokens before each target."""
        length, width = tokens.shape[1], self.embedding.features
        # Looked up in float32, so that the gradients of frequent tokens add up in float32.
        embedded = self.embedding(tokens) * width**0.5 + sinusoidal_positions(length, width)
        activations = embedded.astype(self.dtype)
        run = nnx.remat(_Layer.__call__) if self.remat else _Layer.__call__
        for layer in self.layers:
            activations = run(layer, activations)
        normalised: jax.Array = self.norm(activations)
        return normalised


class _Layer(nnx.Module):
    """Causal attention, then a feed-forward layer; each is added to its inputs."""

    def __init__(
        self, width: int, hidden: int, heads: int, **options: Unpack[LayerOptions]
    ) -> None:
        self.attention_norm = nnx.LayerNorm(width, **options)
        self.attention = nnx.MultiHeadAttention(
            heads, width, use_bias=False, decode=False, **options
        )
        self.feed_forward_norm = nnx.LayerNorm(width, **options)
        self.widen = nnx.Linear(width, hidden, **options)
        self.narrow = nnx.Linear(hidden, width, **options)

    def __call__(self, activations: jax.Array) -> jax.Array:
        normalised = self.attention_norm(activations)
        activations += self.attention(normalised, is_causal=True)
        normalised = self.feed_forward_norm(activations)
        return activations + self.narrow(jax.nn.relu(self.widen(normalised)))


def sinusoidal_positions(length: int, width: int) -> np.ndarray:
    """Return sines and cosines in turn, of ever longer waves, float32 [length, width]."""
    angles = np.arange(length)[:, None] / 10_000 ** (np.arange(0, width, 2) / width)
    pairs = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
    return pairs.reshape(length, width).astype(np.float32)


class LSTMLanguageModel(LanguageModel):
    """Embedding, a projected LSTM over the text, and logits by weights of their own.

    Args:
        vocabulary: number of different tokens, and of logits.
        embedding: width of a token's embedding.
        cells: of the memory.
        projected: width of what the memory returns, to itself and to the logits.
    """

    def __init__(
        self,
        vocabulary: int,
        embedding: int,
        cells: int,
        projected: int,
        **options: Unpack[LayerOptions],
    ) -> None:
        self.dtype, rngs = options["dtype"], options["rngs"]
        initial = nnx.initializers.normal(1.0)
        self.embedding = nnx.Embed(vocabulary, embedding, embedding_init=initial, rngs=rngs)
        self.memory = ProjectedLSTM(embedding, cells, projected, **options)
        self.logits = nnx.Linear(projected, vocabulary, use_bias=False, **options)

    def features(self, tokens: jax.Array) -> jax.Array:
        """Return features [batch, length, width]; every text starts with an empty memory."""
        # Looked up in float32, so that the gradients of frequent tokens add up in float32.
        embedded = self.embedding(tokens).astype(self.dtype)
        outputs: jax.Array = self.memory(embedded)
        return outputs


class ProjectedLSTM(nnx.Module):
    """A long short-term memory whose outputs are projected before they recur (Sak et al., 2014).

    There are no peephole connections, and outputs have no part that does not recur. The gates are
    computed in `dtype`, the memory is float32. The forget gate starts with a bias of one, the other
    biases start at zero.

    Args:
        inputs: width of an input.
        cells: of the memory.
        outputs: width of an output.

    Attributes:
        remat: whether the gates are computed again in the backward pass instead of kept.
    """

    remat = False

    def __init__(
        self, inputs: int, cells: int, outputs: int, **options: Unpack[LayerOptions]
    ) -> None:
        self.cells = cells
        self.outputs = outputs
        self.dtype = options["dtype"]
        layer = partial(nnx.Linear, **options)
        self.of_inputs = layer(inputs, 4 * cells, bias_init=_keeping)
        self.of_outputs = layer(outputs, 4 * cells, use_bias=False)
        self.projection = layer(cells, outputs, use_bias=False)

    def __call__(self, inputs: jax.Array) -> jax.Array:
        """Map inputs [batch, length, inputs] to outputs after each, [batch, length, outputs]."""

        def advance(carry: Carry, of_inputs: jax.Array) -> tuple[Carry, jax.Array]:
            memory, outputs = carry
            gates = jnp.split(of_inputs + self.of_outputs(outputs), 4, axis=-1)
            let_in, keep, let_out = (jax.nn.sigmoid(gates[i]) for i in (0, 1, 3))
            memory = keep * memory + let_in * jnp.tanh(gates[2])
            outputs = self.projection(let_out * jnp.tanh(memory).astype(self.dtype))
            return (memory, outputs), outputs

        batch = inputs.shape[0]
        empty = jnp.zeros((batch, self.cells), jnp.float32)
        silent = jnp.zeros((batch, self.outputs), self.dtype)
        # One product for all inputs, since they do not wait for the memory.
        of_inputs = self.of_inputs(inputs).swapaxes(0, 1)
        step = jax.checkpoint(advance, prevent_cse=False) if self.remat else advance
        _, outputs = jax.lax.scan(step, (empty, silent), of_inputs)
        by_text: jax.Array = outputs.swapaxes(0, 1)
        return by_text


def _keeping(key: jax.Array, shape: tuple[int, ...], dtype: DTypeLike) -> jax.Array:
    """Return biases of the input, forget, cell and output gates: ones for the forget gate."""
    del key
    cells = shape[0] // 4
    return jnp.zeros(shape, dtype).at[cells : 2 * cells].set(1)
