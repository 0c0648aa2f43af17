"""Every model by its name: sizes worked out by hand, types, and the examples it takes."""

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.typing import DTypeLike

from dbtool.core.errors import UsageError
from producers.datasets.forms import GREY_28, Form, ImageForm, TextForm
from producers.models.residual import GhostBatchNorm
from producers.training.step import trainer
from tests.support.slow import quick_few

# torchvision's vgg11 has just as many, its resnet50 so many. That one normalises after the first
# convolution, after every third one of a block instead of before the first, and its shortcuts, but
# not before the mean.
_VGG_11 = 132_863_336
_RESNET_50 = 25_557_032
_AFTER = [256] * 3 + [512] * 4 + [1024] * 6 + [2048] * 3
_MOVED = sum([64, *_AFTER[:-1]]) + 2048 - 64 - sum(_AFTER) - (256 + 512 + 1024 + 2048)

_SIMPLE_CNNS = {
    "simple_cnn_narrow": (16, 32, 512),
    "simple_cnn_base": (32, 64, 1024),
    "simple_cnn_wide": (64, 128, 2048),
}
# Layers, width and width inside the feed-forward layers.
_TRANSFORMERS = {
    "transformer_base": (6, 512, 2048),
    "transformer_wide": (6, 1024, 4096),
    "transformer_shallow": (2, 512, 2048),
    "transformer_narrow_and_shallow": (2, 256, 1024),
    "transformer_tiny": (2, 64, 256),
}


def parameter_count(model: str, form: Form) -> int:
    """Weights and biases, layer by layer."""
    if isinstance(form, ImageForm):
        return _of_images(model, form)
    assert isinstance(form, TextForm)
    return _of_texts(model, form.vocabulary)


def _of_images(model: str, form: ImageForm) -> int:
    sides, classes = (form.height, form.width), form.classes
    if model.startswith("fc_"):
        return _dense(sides[0] * sides[1] * form.channels, *map(int, model.split("_")[1:]), classes)
    if model == "simple_cnn":
        # Of 28 pixels 24 are left, 12, 8 and 4.
        assert sides == (28, 28)
        return _convolutions((5, 1, 32), (5, 32, 64)) + _dense(4 * 4 * 64, classes)
    if model in _SIMPLE_CNNS:
        first, second, dense = _SIMPLE_CNNS[model]
        assert sides == (28, 28)
        convolutions = _convolutions((5, 1, first), (5, first, second))
        return convolutions + _dense(7 * 7 * second, dense, classes)
    if model == "resnet_8":
        return (
            _convolutions((3, 3, 16), (3, 16, 16), (3, 16, 16))
            + _convolutions((3, 16, 32), (3, 32, 32))
            + _convolutions((3, 32, 64), (3, 64, 64))
            + _dense(64, classes)
        )
    if model == "resnet_50":
        return _RESNET_50 + 2 * _MOVED - _dense(2048, 1000) + _dense(2048, classes)
    assert model == "vgg_11"
    last = {224: 7, 32: 1}[sides[0]] ** 2 * 512
    return _VGG_11 - _dense(7 * 7 * 512, 4096, 4096, 1000) + _dense(last, 4096, 4096, classes)


def _of_texts(model: str, vocabulary: int) -> int:
    if model == "lstm":
        # Four gates from the inputs and from the projected outputs; the projection; the logits.
        gates = 512 * 4 * 2048 + 4 * 2048 + 512 * 4 * 2048
        return vocabulary * 512 + gates + 2048 * 512 + _dense(512, vocabulary)
    layers, width, hidden = _TRANSFORMERS[model]
    attention = 4 * width * width
    norm = 2 * width
    # The embedding and the logits have a matrix each.
    of_layer = attention + _dense(width, hidden, width) + 2 * norm
    return 2 * vocabulary * width + layers * of_layer + norm


def _dense(*widths: int) -> int:
    """Weights and biases of dense layers from each width to the next."""
    return sum(before * after + after for before, after in itertools.pairwise(widths))


def _convolutions(*sizes: tuple[int, int, int]) -> int:
    """Weights and biases of convolutions, each a kernel's side, its channels and its features."""
    return sum(side * side * channels * features + features for side, channels, features in sizes)


COLOUR_32 = ImageForm(height=32, width=32, channels=3, classes=10)
COLOUR_224 = ImageForm(height=224, width=224, channels=3, classes=1_000)
TEXTS = TextForm(vocabulary=32_000, length=64)


MODELS: list[tuple[str, Form]] = [
    *(("fc_64_64_64", GREY_28), ("fc_1024", GREY_28)),
    *(("simple_cnn_narrow", GREY_28), ("simple_cnn_base", GREY_28), ("simple_cnn_wide", GREY_28)),
    *(("simple_cnn", GREY_28), ("resnet_8", COLOUR_32), ("resnet_50", COLOUR_224)),
    *(("vgg_11", COLOUR_224), ("vgg_11", COLOUR_32)),
    *(("transformer_base", TEXTS), ("transformer_wide", TEXTS), ("transformer_shallow", TEXTS)),
    *(("transformer_narrow_and_shallow", TEXTS), ("transformer_tiny", TEXTS), ("lstm", TEXTS)),
]


# A base network of more layers is as wide a one.
QUICK = [each for each in MODELS if each[0] != "transformer_wide"]


@pytest.mark.parametrize(("model", "form"), quick_few(MODELS, QUICK))
def test_number_and_types_of_parameters_and_logits(model, form):
    functions = trainer(model, "sgd", "constant", form, jnp.bfloat16)

    def start(inputs: jax.Array) -> tuple[Any, jax.Array]:
        state = functions.start(jnp.uint32(0))
        return state.parameters, functions.logits(state.parameters, state.statistics, inputs)

    inputs = jax.ShapeDtypeStruct((3, *form.input_shape), form.input_dtype)
    parameters, logits = jax.eval_shape(start, inputs)
    leaves = jax.tree.leaves(parameters)
    assert sum(leaf.size for leaf in leaves) == parameter_count(model, form)
    assert {leaf.dtype for leaf in leaves} == {jnp.dtype(jnp.float32)}
    assert logits == jax.ShapeDtypeStruct((3, *form.logits_shape), jnp.float32)


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


def test_each_ghost_batch_is_normalised_by_its_own_statistics():
    images = _images(12, 2, 5, 3)
    means, variances = _statistics(images, 4)
    parts = np.split(images, 3)
    expected = [_expected(*part) for part in zip(parts, means, variances, strict=True)]
    layer = _layer(ghost_batch=4)
    found = layer(jnp.asarray(images), train=True)
    np.testing.assert_allclose(found, np.concatenate(expected), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(layer.mean[...], 0.1 * means.mean(0), rtol=1e-5)


def test_running_averages_and_evaluation_by_them():
    layer = _layer(ghost_batch=4, momentum=0.8)
    mean, variance = np.zeros(3), np.ones(3)
    for step in range(3):
        images = _images(8, 3, 3, 3) + step
        layer(jnp.asarray(images), train=True)
        means, variances = _statistics(images, 4)
        mean = 0.8 * mean + 0.2 * (means[0] + means[1]) / 2
        variance = 0.8 * variance + 0.2 * (variances[0] + variances[1]) / 2
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
