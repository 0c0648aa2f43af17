"""Models: sizes worked out by hand, and convolution against its definition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from producers.models.convolution import conv_general_dilated
from producers.models.simple_cnn import SimpleCNN
from producers.training.step import trainer

if TYPE_CHECKING:
    from collections.abc import Callable

# Weights and biases layer by layer.
COUNTS = {
    "fc_64_64_64": 784 * 64 + 64 + 2 * (64 * 64 + 64) + 64 * 10 + 10,
    "fc_1024": 784 * 1024 + 1024 + 1024 * 10 + 10,
    "simple_cnn_narrow": 25 * 16 + 16 + 25 * 16 * 32 + 32 + 49 * 32 * 512 + 512 + 5120 + 10,
    "simple_cnn_base": 25 * 32 + 32 + 25 * 32 * 64 + 64 + 49 * 64 * 1024 + 1024 + 10240 + 10,
    "simple_cnn_wide": 25 * 64 + 64 + 25 * 64 * 128 + 128 + 49 * 128 * 2048 + 2048 + 20480 + 10,
}


@pytest.mark.parametrize(("model", "count"), COUNTS.items())
def test_number_of_parameters(model: str, count: int) -> None:
    functions = trainer(model, "sgd", "constant")
    parameters = jax.eval_shape(functions.start, jnp.uint32(0)).parameters
    leaves = jax.tree.leaves(parameters)
    assert sum(leaf.size for leaf in leaves) == count
    assert {leaf.dtype for leaf in leaves} == {jnp.dtype(jnp.float32)}


@pytest.mark.parametrize("model", ["fc_32", "simple_cnn_narrow"])
def test_logits_of_a_batch(model: str) -> None:
    functions = trainer(model, "sgd", "constant")
    state = functions.start(jnp.uint32(0))
    logits = functions.logits(state.parameters, state.statistics, jnp.zeros((3, 28, 28), jnp.uint8))
    assert logits.shape == (3, 10)
    assert logits.dtype == jnp.float32


def test_convolutional_logits_are_those_of_the_library_s_layers() -> None:
    """With pooling over moving windows after ReLU, as the network is usually written."""
    model: Any = SimpleCNN(8, 1, (4, 6), 5, 3, dtype=jnp.float32, rngs=nnx.Rngs(0))
    images = _normal(2, 8, 8, 1)

    def layer(images: jax.Array, convolution: Any) -> jax.Array:
        convolved = _library_s(images, convolution.kernel[...]) + convolution.bias[...]
        square = (1, 2, 2, 1)
        activations = jax.nn.relu(convolved)
        pooled: jax.Array = jax.lax.reduce_window(
            activations, -jnp.inf, jax.lax.max, square, square, "VALID"
        )
        return pooled

    pooled = layer(layer(images, model.first), model.second)
    expected = model.logits(jax.nn.relu(model.dense(pooled.reshape(2, -1))))
    _assert_same([model(images, train=True)], [expected])


# Shapes of inputs and of the kernel: with many channels and with few, kernels of unequal sides, one
# wider than the image, and one of a single position.
SHAPES = [
    ((2, 14, 14, 32), (5, 5, 32, 64)),
    ((3, 28, 28, 1), (5, 5, 1, 16)),
    ((2, 7, 6, 3), (5, 3, 3, 4)),
    ((2, 6, 7, 8), (3, 5, 8, 2)),
    ((1, 3, 4, 6), (7, 5, 6, 5)),
    ((2, 4, 5, 3), (1, 1, 3, 3)),
]
LAYOUT = ("NHWC", "HWIO", "NHWC")


def _own(inputs: jax.Array, kernel: jax.Array) -> jax.Array:
    return conv_general_dilated(inputs, kernel, (1, 1), "SAME", dimension_numbers=LAYOUT)


def _library_s(inputs: jax.Array, kernel: jax.Array) -> jax.Array:
    return jax.lax.conv_general_dilated(inputs, kernel, (1, 1), "SAME", dimension_numbers=LAYOUT)


def _normal(*shape: int) -> jax.Array:
    return jnp.asarray(np.random.default_rng(sum(shape)).normal(size=shape), jnp.float32)


def _assert_same(found: Any, expected: Any) -> None:
    """Asserts that arrays are equal up to the rounding of sums in float32."""
    for one, other in zip(found, expected, strict=True):
        scale = float(jnp.abs(other).max())
        np.testing.assert_allclose(one, other, rtol=0, atol=3e-6 * scale)


@pytest.mark.parametrize(("images", "kernel"), SHAPES)
def test_convolution_and_its_gradients_are_the_library_s(
    images: tuple[int, ...], kernel: tuple[int, ...]
) -> None:
    arguments = _normal(*images), _normal(*kernel)
    weights = _normal(*images[:3], kernel[3])

    def result_and_gradients(convolve: Callable[..., jax.Array]) -> list[jax.Array]:
        result, pull_back = jax.vjp(convolve, *arguments)
        return [result, *pull_back(weights)]

    _assert_same(result_and_gradients(_own), result_and_gradients(_library_s))


@pytest.mark.parametrize(("images", "kernel"), SHAPES[:3])
def test_convolutions_side_by_side_are_the_library_s(
    images: tuple[int, ...], kernel: tuple[int, ...]
) -> None:
    """Under vmap over trials, each with a kernel of its own, in a compiled loop."""
    shared, kernels = _normal(*images), _normal(3, *kernel)

    def gradients(convolve: Callable[..., jax.Array]) -> jax.Array:
        def loss(kernel: jax.Array) -> jax.Array:
            return jnp.square(convolve(shared, kernel)).mean()

        def step(kernels: jax.Array, _: None) -> tuple[jax.Array, None]:
            return jax.vmap(jax.grad(loss))(kernels), None

        last: jax.Array
        last, _ = jax.jit(lambda kernels: jax.lax.scan(step, kernels, None, length=2))(kernels)
        return last

    _assert_same([gradients(_own)], [gradients(_library_s)])


def test_off_the_cpu_it_is_the_library_s_convolution() -> None:
    images, kernel = ((jax.ShapeDtypeStruct(shape, jnp.float32)) for shape in SHAPES[0])
    gradient = jax.grad(lambda images, kernel: _own(images, kernel).sum(), (0, 1))
    for platform, convolutions in (("cuda", True), ("cpu", False)):
        lowered = jax.jit(gradient).trace(images, kernel).lower(lowering_platforms=(platform,))
        text = lowered.as_text()
        assert ("stablehlo.convolution" in text) is convolutions
        assert ("stablehlo.dot_general" in text) is not convolutions


def test_convolution_refuses_what_it_does_not_compute() -> None:
    with pytest.raises(NotImplementedError, match="strides"):
        conv_general_dilated(jnp.zeros((1, 4, 4, 1)), jnp.zeros((3, 3, 1, 1)), (2, 2), "SAME")
