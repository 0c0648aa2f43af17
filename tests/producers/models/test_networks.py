"""Networks against the same of the library's functions, or by their equations in NumPy."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from producers.datasets.forms import ImageForm
from producers.models.convolution import mean_pool_2x2
from producers.models.feed_forward import VGG, SimpleCNN
from producers.models.language import (
    LSTMLanguageModel,
    ProjectedLSTM,
    Transformer,
    sinusoidal_positions,
)
from producers.models.residual import BottleneckResNet, ResNet8


def with_normal_weights(build: Callable[..., nnx.Module]) -> Any:
    """The model, every weight and statistic of it normal with a deviation of 0.3.

    Drawn by NumPy: JAX takes seconds to compile its own initial weights.
    """
    graph, abstract = nnx.split(nnx.eval_shape(lambda: build(rngs=nnx.Rngs(0))))
    generator = np.random.default_rng(0)
    weights = jax.tree.map(
        lambda array: jnp.asarray(generator.normal(0, 0.3, array.shape), array.dtype), abstract
    )
    return nnx.merge(graph, weights)


def _normal(*shape: int) -> np.ndarray:
    # No array of JAX, which would look for devices while tests are collected.
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def _convolve(
    images: jax.Array, convolution: Any, stride: int = 1, *, padded: bool = True
) -> jax.Array:
    """The library's convolution, with zeros around the image as far as a kernel reaches."""
    side = convolution.kernel[...].shape[0] // 2 if padded else 0
    convolved: jax.Array = jax.lax.conv_general_dilated(
        images,
        convolution.kernel[...],
        (stride, stride),
        ((side, side), (side, side)),
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )
    return convolved if convolution.bias is None else convolved + convolution.bias[...]


def _pool(images: jax.Array) -> jax.Array:
    pooled: jax.Array = nnx.max_pool(images, (2, 2), strides=(2, 2))
    return pooled


def _assert_same(build: Any, expected: Callable[[Any, jax.Array], Any], shape: Any) -> None:
    """Asserts that a model's logits are those of the expected function of the model and images."""

    @jax.jit
    def both(images: jax.Array) -> tuple[jax.Array, jax.Array]:
        model = with_normal_weights(partial(build, dtype=jnp.float32))
        wanted = expected(model, images)
        return model(images, train=False), wanted

    found, wanted = both(_normal(*shape))
    scale = float(jnp.abs(wanted).max())
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * scale)


@pytest.mark.parametrize(
    ("form", "dense", "padding"),
    [
        (ImageForm(8, 12, 1, 3), 5, "SAME"),
        # As in the sparsity study: 28 pixels become 24, 12, 8 and 4.
        (ImageForm(28, 28, 1, 10), None, "VALID"),
    ],
)
def test_simple_cnn_pools_after_relu_as_it_is_usually_written(form, dense, padding):
    def expected(model: Any, images: jax.Array) -> Any:
        activations = images
        for layer in (model.first, model.second):
            convolved = _convolve(activations, layer, padded=padding == "SAME")
            activations = _pool(jax.nn.relu(convolved))
        flat = activations.reshape(2, -1)
        return model.logits(flat if dense is None else jax.nn.relu(model.dense(flat)))

    build = partial(SimpleCNN, form, (4, 6), dense, padding=padding)
    _assert_same(build, expected, (2, form.height, form.width, 1))


def test_resnet_8_activates_before_it_convolves():
    def strided(images: jax.Array, convolution: Any) -> jax.Array:
        """Every second window from the first pixel on, with zeros after the last one alone."""
        padded = jnp.pad(images, ((0, 0), (0, 1), (0, 1), (0, 0)))
        inside: jax.Array = _convolve(padded, convolution)[:, 1:-1:2, 1:-1:2]
        return inside

    def expected(model: Any, images: jax.Array) -> Any:
        first, second = model.blocks
        whole = _convolve(images, model.first)
        inner = jax.nn.relu(_convolve(jax.nn.relu(whole), first.first))
        whole = whole + _convolve(inner, first.second)
        activated = jax.nn.relu(whole)
        added = _convolve(jax.nn.relu(strided(activated, second.first)), second.second)
        assert added.shape == (2, 3, 4, 6)
        corners = [activated[:, row::2, column::2] for row in (0, 1) for column in (0, 1)]
        shortcut = jnp.concatenate([sum(corners) / 4, jnp.zeros((2, 3, 4, 2))], axis=-1)
        last = jax.nn.relu(shortcut + added)
        return model.logits(last.reshape(2, 12, 6).mean(1))

    build = partial(ResNet8, ImageForm(6, 8, 3, 5), 4, (4, 6))
    _assert_same(build, expected, (2, 6, 8, 3))


def test_means_of_squares_by_hand():
    image = jnp.arange(15.0).reshape(1, 3, 5, 1)
    # Rows 0 to 4, 5 to 9 and 10 to 14; the last row and column have no partner.
    expected = [[3.0, 5.0, 6.5], [10.5, 12.5, 14.0]]
    np.testing.assert_array_equal(mean_pool_2x2(image)[0, :, :, 0], expected)


def test_vgg_is_convolutions_and_pools_in_a_row():
    def expected(model: Any, images: jax.Array) -> Any:
        activations = images
        for stage in model.stages:
            for layer in stage:
                activations = jax.nn.relu(_convolve(activations, layer))
            activations = _pool(activations)
        assert activations.shape == (2, 2, 1, 5)
        activations = activations.reshape(2, -1)
        for layer in model.dense:
            activations = jax.nn.relu(activations @ layer.kernel[...] + layer.bias[...])
        return model.logits(activations)

    build = partial(VGG, ImageForm(9, 4, 3, 5), ((4,), (6, 5)), (8, 7))
    _assert_same(build, expected, (2, 9, 4, 3))


def test_bottleneck_network_at_evaluation():
    def normalise(images: jax.Array, norm: Any) -> Any:
        centred = (images - norm.mean[...]) / jnp.sqrt(norm.variance[...] + 1e-5)
        return centred * norm.scale[...] + norm.bias[...]

    def expected(model: Any, images: jax.Array) -> Any:
        _set_normalisation(model)
        edges = ((0, 0), (1, 1), (1, 1), (0, 0))
        padded = jnp.pad(_convolve(images, model.first, 2), edges, constant_values=-jnp.inf)
        activations = nnx.max_pool(padded, (3, 3), strides=(2, 2))
        assert activations.shape == (2, 4, 4, 2)
        for block, stride in zip(model.blocks, (1, 1, 2), strict=True):
            first = jax.nn.relu(normalise(activations, block.narrow_norm))
            second = jax.nn.relu(normalise(_convolve(first, block.narrow), block.middle_norm))
            third = _convolve(second, block.middle, stride)
            third = jax.nn.relu(normalise(third, block.widen_norm))
            if block.has_projection:
                activations = _convolve(first, block.shortcut, stride)
            activations = activations + _convolve(third, block.widen)
        assert [block.has_projection for block in model.blocks] == [True, False, True]
        assert activations.shape == (2, 2, 2, 16)
        last = jax.nn.relu(normalise(activations, model.last_norm))
        return model.logits(last.mean((1, 2)))

    build = partial(BottleneckResNet, ImageForm(16, 16, 3, 5), 2, (2, 1))
    _assert_same(build, expected, (2, 16, 16, 3))


def _set_normalisation(model: Any) -> None:
    """Scales, biases and running averages that are neither zero nor one."""
    norms = [model.last_norm]
    for block in model.blocks:
        norms += [block.narrow_norm, block.middle_norm, block.widen_norm]
    for index, norm in enumerate(norms):
        ramp = jnp.linspace(0.5, 1.5, norm.mean[...].size) + index / 20
        norm.scale[...], norm.bias[...] = ramp, ramp - 1
        norm.mean[...], norm.variance[...] = 1 - ramp, 2 * ramp


VOCABULARY = 11
TOKENS = np.random.default_rng(0).integers(1, VOCABULARY, (3, 7), np.int32)
TRANSFORMER = partial(Transformer, VOCABULARY, layers=2, width=8, hidden=12, heads=2)
LSTM = partial(LSTMLanguageModel, VOCABULARY, embedding=6, cells=9, projected=5)


def in_float32(build: Any) -> Any:
    return with_normal_weights(partial(build, dtype=jnp.float32))


def test_sinusoidal_positions():
    positions = sinusoidal_positions(3, 4)
    # Two frequencies: 1 and 10000 ** -(2 / 4) = 1 / 100.
    by_hand = [[np.sin(p), np.cos(p), np.sin(p / 100), np.cos(p / 100)] for p in (0.0, 1.0, 2.0)]
    np.testing.assert_allclose(positions, by_hand, atol=1e-6)


def test_transformer_by_its_equations():
    model = in_float32(TRANSFORMER)
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


def test_lstm_by_its_equations():
    model = in_float32(LSTM)
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
        logits = outputs @ np.asarray(model.logits.kernel[...], np.float64)
        np.testing.assert_allclose(found[:, position], logits, atol=1e-5)


def test_the_forget_gate_of_the_lstm_starts_open():
    memory = ProjectedLSTM(1, 2, 1, dtype=jnp.float32, rngs=nnx.Rngs(0))
    assert memory.of_inputs.bias is not None
    assert memory.of_inputs.bias[...].tolist() == [0, 0, 1, 1, 0, 0, 0, 0]


def _sigmoid(x: np.ndarray) -> np.ndarray:
    result: np.ndarray = 1 / (1 + np.exp(-x))
    return result


def test_the_gradients_of_frequent_tokens_add_up_in_float32():
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
