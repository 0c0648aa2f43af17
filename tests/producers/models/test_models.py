"""Every model by its name: sizes worked out by hand, types, and the examples it takes."""

import itertools
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.typing import DTypeLike

from dbtool.core.errors import UsageError
from producers.datasets.forms import GREY_28, IMAGENET, Form, ImageForm, TextForm
from producers.models.residual import GhostBatchNorm
from producers.training.step import trainer
from tests.support.slow import quick_few


def dense(*widths: int) -> int:
    """Weights and biases of dense layers from each width to the next."""
    return sum(before * after + after for before, after in itertools.pairwise(widths))


def convolutions(*sizes: tuple[int, int, int]) -> int:
    """Weights and biases of convolutions, each a kernel's side, its channels and its features."""
    return sum(side * side * channels * features + features for side, channels, features in sizes)


def transformer(layers: int, width: int, hidden: int) -> int:
    """Of four projections, two dense layers and two norms a layer, between those of all."""
    of_layer = 4 * width * width + dense(width, hidden, width) + 2 * 2 * width
    # The embedding and the logits have a matrix each.
    return 2 * TEXTS.vocabulary * width + layers * of_layer + 2 * width


# torchvision's vgg11 has just as many, its resnet50 so many. That one normalises after the first
# convolution, after every third one of a block instead of before the first, and its shortcuts, but
# not before the mean.
VGG_11, RESNET_50 = 132_863_336, 25_557_032
AFTER = [256] * 3 + [512] * 4 + [1024] * 6 + [2048] * 3
MOVED = sum([64, *AFTER[:-1]]) + 2048 - 64 - sum(AFTER) - (256 + 512 + 1024 + 2048)

COLOUR_32 = ImageForm(height=32, width=32, channels=3, classes=10)
COLOUR_224 = ImageForm(height=224, width=224, channels=3, classes=1_000)
TEXTS = TextForm(vocabulary=32_000, length=64)
PARAMETERS: dict[tuple[str, Form], int] = {
    ("fc_64_64_64", GREY_28): dense(784, 64, 64, 64, 10),
    ("fc_1024", GREY_28): dense(784, 1024, 10),
    ("simple_cnn_narrow", GREY_28): (
        convolutions((5, 1, 16), (5, 16, 32)) + dense(7 * 7 * 32, 512, 10)
    ),
    ("simple_cnn_base", GREY_28): (
        convolutions((5, 1, 32), (5, 32, 64)) + dense(7 * 7 * 64, 1024, 10)
    ),
    ("simple_cnn_wide", GREY_28): (
        convolutions((5, 1, 64), (5, 64, 128)) + dense(7 * 7 * 128, 2048, 10)
    ),
    # Of 28 pixels 24 are left, 12, 8 and 4.
    ("simple_cnn", GREY_28): convolutions((5, 1, 32), (5, 32, 64)) + dense(4 * 4 * 64, 10),
    ("resnet_8", COLOUR_32): (
        convolutions((3, 3, 16), (3, 16, 16), (3, 16, 16), (3, 16, 32), (3, 32, 32))
        + convolutions((3, 32, 64), (3, 64, 64))
        + dense(64, 10)
    ),
    ("resnet_50", COLOUR_224): RESNET_50 + 2 * MOVED,
    ("vgg_11", COLOUR_224): VGG_11,
    ("vgg_11", COLOUR_32): (
        VGG_11 - dense(7 * 7 * 512, 4096, 4096, 1000) + dense(512, 4096, 4096, 10)
    ),
    ("transformer_base", TEXTS): transformer(6, 512, 2048),
    ("transformer_wide", TEXTS): transformer(6, 1024, 4096),
    ("transformer_shallow", TEXTS): transformer(2, 512, 2048),
    ("transformer_narrow_and_shallow", TEXTS): transformer(2, 256, 1024),
    ("transformer_tiny", TEXTS): transformer(2, 64, 256),
    # Four gates from the inputs and from the projected outputs; the projection; the logits.
    ("lstm", TEXTS): (
        32_000 * 1024 + (1024 + 512) * 4 * 2048 + 4 * 2048 + 2048 * 512 + 512 * 32_000
    ),
}
# A base network of more layers is as wide a one.
QUICK = PARAMETERS.keys() - {("transformer_wide", TEXTS)}


@pytest.mark.parametrize(("model", "form"), quick_few(PARAMETERS, QUICK))
def test_number_and_types_of_parameters_and_logits(model, form):
    functions = trainer(model, "sgd", "constant", form, jnp.bfloat16)

    def start(inputs: jax.Array) -> tuple[Any, jax.Array]:
        state = functions.start(jnp.uint32(0))
        return state.parameters, functions.logits(state.parameters, state.statistics, inputs)

    inputs = jax.ShapeDtypeStruct((3, *form.input_shape), form.input_dtype)
    parameters, logits = jax.eval_shape(start, inputs)
    leaves = jax.tree.leaves(parameters)
    assert sum(leaf.size for leaf in leaves) == PARAMETERS[model, form]
    assert {leaf.dtype for leaf in leaves} == {jnp.dtype(jnp.float32)}
    assert logits == jax.ShapeDtypeStruct((3, *form.logits_shape), jnp.float32)


IMAGENET_64 = replace(IMAGENET, height=64, width=64)


@pytest.mark.parametrize(
    ("model", "form"),
    quick_few(
        [("resnet_50", IMAGENET_64), ("resnet_50", IMAGENET), ("vgg_11", IMAGENET)],
        {("resnet_50", IMAGENET_64)},
    ),
)
def test_networks_of_imagenet_start_where_the_release_does(model, form):
    """ResNet-50 at 6.9095: the logarithm of 1,000, and half of the variance of the logits."""
    # Smooth images whose levels are about as bright, and vary as much, as those of photographs.
    random = np.random.default_rng(0)
    coarse = random.normal(118, 60, (8, form.height // 16, form.width // 16, 3))
    levels = coarse.repeat(16, axis=1).repeat(16, axis=2).clip(0, 255).astype(np.uint8)
    functions = trainer(model, "sgd", "constant", form)

    @jax.jit
    def start(images: jax.Array) -> jax.Array:
        state = functions.start(jnp.uint32(0))
        return functions.logits(state.parameters, state.statistics, images)

    logits = start(levels)
    # Of a label that is any of the classes alike.
    loss = jax.nn.logsumexp(logits, axis=-1).mean() - logits.mean()
    assert loss == pytest.approx(6.9095, abs=0.003)


@pytest.mark.parametrize(
    ("model", "form", "message"),
    [
        ("fc_64", TEXTS, "fc_64 takes images, and the data set holds texts"),
        ("lstm", COLOUR_32, "lstm takes texts, and the data set holds images"),
        ("resnet_50", GREY_28, "at least 32x32 pixels, and those of the data set have 28x28"),
        ("vgg_11", ImageForm(40, 31, 3, 10), "at least 32x32 pixels"),
        ("simple_cnn_base", ImageForm(3, 9, 1, 10), "at least 4x4 pixels"),
        ("simple_cnn", ImageForm(28, 15, 1, 10), "at least 16x16 pixels"),
    ],
)
def test_examples_that_do_not_fit(model, form, message):
    with pytest.raises(UsageError, match=message):
        jax.eval_shape(trainer(model, "sgd", "constant", form).start, jnp.uint32(0))


EPSILON = 1e-5


def _images(*shape: int) -> np.ndarray:
    """Channels of different means and deviations."""
    channels = np.arange(1, shape[-1] + 1)
    return np.random.default_rng(0).normal(channels, channels / 2, shape).astype(np.float32)


def _layer(dtype: DTypeLike = jnp.float32, **sizes: Any) -> GhostBatchNorm:
    layer = GhostBatchNorm(3, dtype=dtype, **sizes)
    layer.scale[...] = jnp.linspace(0.5, 2.0, 3)
    layer.bias[...] = jnp.linspace(-1.0, 1.0, 3)
    return layer


def _statistics(images: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Means and variances of consecutive groups of examples, float64 [groups, channels]."""
    groups = [images[first : first + size] for first in range(0, len(images), size)]
    means = np.array([group.mean((0, 1, 2), dtype=np.float64) for group in groups])
    variances = np.array([group.var((0, 1, 2), dtype=np.float64) for group in groups])
    return means, variances


def _expected(images: np.ndarray, mean: Any, variance: Any) -> np.ndarray:
    normalised = (images - mean) / np.sqrt(variance + EPSILON)
    result: np.ndarray = np.linspace(0.5, 2.0, 3) * normalised + np.linspace(-1.0, 1.0, 3)
    return result


def test_ghost_batches_are_normalised_apart_and_evaluations_by_running_averages():
    layer = _layer(ghost_batch=4, momentum=0.8)
    mean, variance = np.zeros(3), np.ones(3)
    for step in range(3):
        images = _images(12, 2, 5, 3) + step
        means, variances = _statistics(images, 4)
        parts = zip(np.split(images, 3), means, variances, strict=True)
        expected = np.concatenate([_expected(*part) for part in parts])
        found = layer(jnp.asarray(images), train=True)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
        mean = 0.8 * mean + 0.2 * means.mean(0)
        variance = 0.8 * variance + 0.2 * variances.mean(0)
    np.testing.assert_allclose(layer.mean[...], mean, rtol=1e-5)
    np.testing.assert_allclose(layer.variance[...], variance, rtol=1e-5)

    images = _images(5, 2, 2, 3)  # evaluation needs no whole ghost batches
    found = layer(jnp.asarray(images), train=False)
    np.testing.assert_allclose(found, _expected(images, mean, variance), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(layer.mean[...], mean, rtol=1e-5)


def test_a_batch_that_is_not_divided_is_refused():
    with pytest.raises(UsageError, match=r"48 examples at a time .* ghost batches of 32"):
        _layer()(jnp.zeros((48, 1, 1, 3)), train=True)


@pytest.mark.slow
def test_statistics_are_float32_whatever_the_computation():
    """Of means above 32, bfloat16 would lose an eighth."""
    images = jnp.asarray(30 + 8 * _images(32, 4, 4, 3), jnp.bfloat16)
    layer = _layer(dtype=jnp.bfloat16)
    found = layer(images, train=True)
    assert found.dtype == jnp.bfloat16
    exact = np.asarray(images, np.float32)
    (mean,), (variance,) = _statistics(exact, 32)
    np.testing.assert_allclose(layer.mean[...], 0.1 * mean, rtol=1e-5)
    np.testing.assert_allclose(layer.variance[...], 0.9 + 0.1 * variance, rtol=1e-3)
    expected = _expected(exact, mean, variance)
    np.testing.assert_allclose(np.asarray(found, np.float32), expected, rtol=0.02, atol=0.03)
