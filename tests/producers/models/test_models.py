"""Models: sizes worked out by hand, and convolution against its definition."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from producers.models.convolution import conv_general_dilated
from producers.training.step import trainer

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
    parameters = functions.start(jnp.uint32(0)).parameters
    logits = functions.logits(parameters, jnp.zeros((3, 28, 28), jnp.uint8))
    assert logits.shape == (3, 10)
    assert logits.dtype == jnp.float32


def test_convolution_is_the_library_s() -> None:
    random = np.random.default_rng(0)
    inputs = jnp.asarray(random.normal(size=(2, 7, 6, 3)), jnp.float32)
    kernel = jnp.asarray(random.normal(size=(5, 3, 3, 4)), jnp.float32)
    options = {"dimension_numbers": ("NHWC", "HWIO", "NHWC")}
    expected = jax.lax.conv_general_dilated(inputs, kernel, (1, 1), "SAME", **options)
    found = conv_general_dilated(inputs, kernel, (1, 1), "SAME", **options)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_convolution_refuses_what_it_does_not_compute() -> None:
    with pytest.raises(NotImplementedError, match="strides"):
        conv_general_dilated(jnp.zeros((1, 4, 4, 1)), jnp.zeros((3, 3, 1, 1)), (2, 2), "SAME")
