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
from tests.support.parameter_counts import parameter_count

if TYPE_CHECKING:
    from producers.datasets.forms import Form

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


@pytest.mark.parametrize(
    ("model", "form"),
    [pytest.param(model, form, id=f"{model}-{form.input_shape[0]}") for model, form in MODELS],
)
def test_number_and_types_of_parameters_and_logits(model: str, form: Form) -> None:
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
