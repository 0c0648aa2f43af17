"""Every model by its name: sizes worked out by hand, types, and the examples it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import pytest

from dbtool.core.errors import UsageError
from producers.datasets.forms import GREY_28, ImageForm, TextForm
from producers.models.registry import model_definition
from producers.training.step import trainer

if TYPE_CHECKING:
    from producers.datasets.forms import Form

COLOUR_32 = ImageForm(height=32, width=32, channels=3, classes=10)
COLOUR_224 = ImageForm(height=224, width=224, channels=3, classes=1_000)
TEXTS = TextForm(vocabulary=32_000, length=64)


def _convolutions(*sizes: tuple[int, int, int]) -> int:
    """Weights of convolutions, each a kernel's side, its channels and its features."""
    return sum(side * side * channels * features + features for side, channels, features in sizes)


def _transformer(layers: int, width: int, hidden: int) -> int:
    attention = 4 * width * width
    feed_forward = width * hidden + hidden + hidden * width + width
    norm = 2 * width
    # The embedding and the logits have a matrix each.
    return 2 * 32_000 * width + layers * (attention + feed_forward + 2 * norm) + norm


# torchvision's vgg11 has just as many, its resnet50 so many. That one normalises after the first
# convolution, after every third one of a block instead of before the first, and its shortcuts, but
# not before the mean.
VGG_11 = 132_863_336
RESNET_50 = 25_557_032
AFTER = [256] * 3 + [512] * 4 + [1024] * 6 + [2048] * 3
MOVED = sum([64, *AFTER[:-1]]) + 2048 - 64 - sum(AFTER) - (256 + 512 + 1024 + 2048)

# Weights and biases layer by layer.
COUNTS: dict[tuple[str, Form], int] = {
    ("fc_64_64_64", GREY_28): 784 * 64 + 64 + 2 * (64 * 64 + 64) + 64 * 10 + 10,
    ("fc_1024", GREY_28): 784 * 1024 + 1024 + 1024 * 10 + 10,
    ("simple_cnn_narrow", GREY_28): (
        _convolutions((5, 1, 16), (5, 16, 32)) + 49 * 32 * 512 + 512 + 512 * 10 + 10
    ),
    ("simple_cnn_base", GREY_28): (
        _convolutions((5, 1, 32), (5, 32, 64)) + 49 * 64 * 1024 + 1024 + 1024 * 10 + 10
    ),
    ("simple_cnn_wide", GREY_28): (
        _convolutions((5, 1, 64), (5, 64, 128)) + 49 * 128 * 2048 + 2048 + 2048 * 10 + 10
    ),
    # Of 28 pixels 24 are left, 12, 8 and 4.
    ("simple_cnn", GREY_28): _convolutions((5, 1, 32), (5, 32, 64)) + 4 * 4 * 64 * 10 + 10,
    ("resnet_8", COLOUR_32): (
        _convolutions((3, 3, 16), (3, 16, 16), (3, 16, 16))
        + _convolutions((3, 16, 32), (3, 32, 32))
        + _convolutions((3, 32, 64), (3, 64, 64))
        + (64 * 10 + 10)
    ),
    ("resnet_50", COLOUR_224): RESNET_50 + 2 * MOVED,
    ("vgg_11", COLOUR_224): VGG_11,
    ("vgg_11", COLOUR_32): (
        VGG_11 - (7 * 7 * 512 - 512) * 4096 - (4096 * 1000 + 1000) + (4096 * 10 + 10)
    ),
    ("transformer_base", TEXTS): _transformer(6, 512, 2048),
    ("transformer_wide", TEXTS): _transformer(6, 1024, 4096),
    ("transformer_shallow", TEXTS): _transformer(2, 512, 2048),
    ("transformer_narrow_and_shallow", TEXTS): _transformer(2, 256, 1024),
    ("transformer_tiny", TEXTS): _transformer(2, 64, 256),
    # Four gates from the inputs and from the projected outputs; the projection; the logits.
    ("lstm", TEXTS): (
        32_000 * 512
        + (512 * 4 * 2048 + 4 * 2048 + 512 * 4 * 2048)
        + 2048 * 512
        + (512 * 32_000 + 32_000)
    ),
}


@pytest.mark.parametrize(
    ("model", "form", "count"),
    [
        pytest.param(model, form, count, id=f"{model}-{form.input_shape[0]}")
        for (model, form), count in COUNTS.items()
    ],
)
def test_number_and_types_of_parameters_and_logits(model: str, form: Form, count: int) -> None:
    functions = trainer(model, "sgd", "constant", form, jnp.bfloat16)

    def start(inputs: jax.Array) -> tuple[Any, jax.Array]:
        state = functions.start(jnp.uint32(0))
        return state.parameters, functions.logits(state.parameters, state.statistics, inputs)

    inputs = jax.ShapeDtypeStruct((3, *form.input_shape), form.input_dtype)
    parameters, logits = jax.eval_shape(start, inputs)
    leaves = jax.tree.leaves(parameters)
    assert sum(leaf.size for leaf in leaves) == count
    assert {leaf.dtype for leaf in leaves} == {jnp.dtype(jnp.float32)}
    shape = (3, form.classes) if isinstance(form, ImageForm) else (3, form.length, form.vocabulary)
    assert logits == jax.ShapeDtypeStruct(shape, jnp.float32)


def test_settings_are_as_sure_as_the_reference_says() -> None:
    def sure(model: str) -> dict[str, str]:
        return model_definition(model).certainty

    assert sure("resnet_8")["convolutions"] == sure("resnet_8")["normalisation"] == "recalled"
    assert sure("resnet_50")["ghost_batch"] == sure("vgg_11")["configuration"] == "recalled"
    assert set(sure("simple_cnn").values()) == {"stated"}
    assert sure("transformer_base")["width"] == sure("transformer_wide")["logits"] == "recalled"
    assert sure("transformer_wide")["width"] == sure("lstm")["cells"] == "chosen"


@pytest.mark.parametrize(
    ("model", "form", "message"),
    [
        ("fc_64", TEXTS, "fc_64 takes images, and the data set holds texts"),
        ("resnet_8", TEXTS, "resnet_8 takes images"),
        ("lstm", COLOUR_32, "lstm takes texts, and the data set holds images"),
        ("transformer_tiny", GREY_28, "transformer_tiny takes texts"),
        ("resnet_50", GREY_28, "at least 32x32 pixels, and those of the data set have 28x28"),
        ("vgg_11", ImageForm(40, 31, 3, 10), "at least 32x32 pixels"),
        ("simple_cnn_base", ImageForm(3, 9, 1, 10), "at least 4x4 pixels"),
        ("simple_cnn", ImageForm(28, 15, 1, 10), "at least 16x16 pixels"),
    ],
)
def test_examples_that_do_not_fit(model: str, form: Form, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        jax.eval_shape(trainer(model, "sgd", "constant", form).start, jnp.uint32(0))


def test_unknown_models_are_named_with_the_closest() -> None:
    with pytest.raises(UsageError, match="closest: resnet_50"):
        model_definition("resnet_51")
