"""Language models against their equations in numpy, and that they see no later token."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from producers.models.lstm import LSTMLanguageModel, ProjectedLSTM
from producers.models.transformer import Transformer, sinusoidal_positions
from tests.support.weights import with_normal_weights

VOCABULARY = 11
TOKENS = np.random.default_rng(0).integers(1, VOCABULARY, (3, 7), np.int32)


def _transformer(dtype: Any = jnp.float32) -> Any:
    return with_normal_weights(
        partial(Transformer, VOCABULARY, layers=2, width=8, hidden=12, heads=2, dtype=dtype)
    )


def _lstm(dtype: Any = jnp.float32) -> Any:
    return with_normal_weights(
        partial(LSTMLanguageModel, VOCABULARY, embedding=6, cells=9, projected=5, dtype=dtype)
    )


@pytest.mark.parametrize("build", [_transformer, _lstm])
def test_logits_depend_neither_on_later_tokens_nor_on_other_texts(build: Any) -> None:
    """So that padding after a text makes no difference to it either."""
    logits = jax.jit(lambda tokens: build()(tokens, train=True))
    expected = logits(TOKENS)
    for position in range(1, 7):
        changed = TOKENS.copy()
        changed[0, position:] = 0
        found = logits(changed)
        np.testing.assert_allclose(found[0, :position], expected[0, :position], atol=1e-6)
        assert not np.allclose(found[0, position], expected[0, position], atol=1e-3)
        np.testing.assert_allclose(found[1:], expected[1:], atol=1e-6)


@pytest.mark.parametrize("build", [_transformer, _lstm])
def test_bfloat16_is_close_to_float32(build: Any) -> None:
    @jax.jit
    def both(tokens: jax.Array) -> list[jax.Array]:
        return [build(dtype)(tokens, train=True) for dtype in (jnp.float32, jnp.bfloat16)]

    exact, rounded = both(TOKENS)
    assert rounded.dtype == jnp.bfloat16
    scale = float(jnp.abs(exact).max())
    np.testing.assert_allclose(rounded.astype(jnp.float32), exact, rtol=0, atol=0.1 * scale)


def test_sinusoidal_positions() -> None:
    positions = sinusoidal_positions(3, 4)
    # Two frequencies: 1 and 10000 ** -(2 / 4) = 1 / 100.
    by_hand = [[np.sin(p), np.cos(p), np.sin(p / 100), np.cos(p / 100)] for p in (0.0, 1.0, 2.0)]
    np.testing.assert_allclose(positions, by_hand, atol=1e-6)


def test_transformer_by_its_equations() -> None:
    model = _transformer()
    for index, layer in enumerate(model.layers):
        layer.attention_norm.scale[...] = np.linspace(0.5, 1.5, 8, dtype=np.float32) + index
        layer.feed_forward_norm.bias[...] = np.linspace(-1, 1, 8, dtype=np.float32) - index
    table = np.asarray(model.embedding.embedding[...], np.float64)
    x = table[TOKENS] * np.sqrt(8) + sinusoidal_positions(7, 8)
    for layer in model.layers:
        x = x + _attention(_normalise(x, layer.attention_norm), layer.attention)
        hidden = _dense(_normalise(x, layer.feed_forward_norm), layer.widen)
        x = x + _dense(np.maximum(hidden, 0), layer.narrow)
    expected = _normalise(x, model.norm) @ np.asarray(model.logits.kernel[...])
    found = jax.jit(lambda tokens: model(tokens, train=True))(TOKENS)
    np.testing.assert_allclose(found, expected, atol=2e-5)


def _normalise(x: np.ndarray, norm: Any) -> np.ndarray:
    centred = x - x.mean(-1, keepdims=True)
    normalised = centred / np.sqrt(x.var(-1, keepdims=True) + 1e-6)
    result: np.ndarray = normalised * np.asarray(norm.scale[...]) + np.asarray(norm.bias[...])
    return result


def _dense(x: np.ndarray, layer: Any) -> np.ndarray:
    result: np.ndarray = x @ np.asarray(layer.kernel[...]) + np.asarray(layer.bias[...])
    return result


def _attention(x: np.ndarray, attention: Any) -> np.ndarray:
    """Softmax of scaled products with the positions up to each, head by head."""
    total = np.zeros_like(x)
    for head in range(2):
        query, key, value = (
            x @ np.asarray(layer.kernel[...][:, head])
            for layer in (attention.query, attention.key, attention.value)
        )
        seen = np.zeros_like(value)
        for position in range(x.shape[1]):
            before = slice(position + 1)
            scores = np.einsum("bc,bkc->bk", query[:, position], key[:, before]) / np.sqrt(4)
            weights = np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)
            seen[:, position] = np.einsum("bk,bkc->bc", weights, value[:, before])
        total += seen @ np.asarray(attention.out.kernel[...][head])
    return total


def test_lstm_by_its_equations() -> None:
    model = _lstm()
    memory = model.memory
    of_inputs, bias, of_outputs, projection = (
        np.asarray(array[...], np.float64)
        for array in (
            memory.of_inputs.kernel,
            memory.of_inputs.bias,
            memory.of_outputs.kernel,
            memory.projection.kernel,
        )
    )
    embedded = np.asarray(model.embedding.embedding[...])[TOKENS]
    cells, outputs = np.zeros((3, 9)), np.zeros((3, 5))
    found = jax.jit(lambda tokens: model(tokens, train=True))(TOKENS)
    for position in range(7):
        gates = embedded[:, position] @ of_inputs + outputs @ of_outputs + bias
        let_in, keep, candidates, let_out = (gates[:, 9 * i : 9 * i + 9] for i in range(4))
        cells = _sigmoid(keep) * cells + _sigmoid(let_in) * np.tanh(candidates)
        outputs = (_sigmoid(let_out) * np.tanh(cells)) @ projection
        np.testing.assert_allclose(found[:, position], _dense(outputs, model.logits), atol=1e-5)


def test_the_forget_gate_of_the_lstm_starts_open() -> None:
    memory = ProjectedLSTM(1, 2, 1, dtype=jnp.float32, rngs=nnx.Rngs(0))
    assert memory.of_inputs.bias is not None
    assert memory.of_inputs.bias[...].tolist() == [0, 0, 1, 1, 0, 0, 0, 0]


def _sigmoid(x: np.ndarray) -> np.ndarray:
    result: np.ndarray = 1 / (1 + np.exp(-x))
    return result


def test_the_gradients_of_frequent_tokens_add_up_in_float32() -> None:
    """Each sum has a thousand parts, of which bfloat16 would lose all after the first hundreds."""
    tokens = np.full((2, 512), 3, np.int32)

    def summed(embedding: jax.Array, dtype: Any) -> jax.Array:
        sizes: dict[str, Any] = {"layers": 0, "width": 8, "hidden": 1, "heads": 1}
        model = with_normal_weights(partial(Transformer, 5, **sizes, dtype=dtype))
        model.embedding.embedding[...] = embedding
        log_probabilities = jax.nn.log_softmax(model(tokens, train=True).astype(jnp.float32))
        return log_probabilities[..., 4].sum()

    table = np.random.default_rng(0).normal(size=(5, 8)).astype(np.float32)
    gradient = jax.jit(jax.grad(summed), static_argnums=1)
    found, expected = (gradient(table, dtype) for dtype in (jnp.bfloat16, jnp.float32))
    np.testing.assert_allclose(found, expected, rtol=0, atol=0.02 * np.abs(expected).max())
