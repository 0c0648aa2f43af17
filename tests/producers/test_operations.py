"""Counted operations, by hand and as others published them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from producers.datasets.forms import CIFAR_10, GREY_28, IMAGENET, Form, TextForm
from producers.estimate import forward_operations, operations


def array(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def test_products_by_hand() -> None:
    assert operations(lambda a, b: a @ b, array(3, 5), array(5, 7)) == 2 * 3 * 5 * 7
    batched = operations(
        lambda a, b: jnp.einsum("bij,bkj->bik", a, b), array(4, 3, 5), array(4, 7, 5)
    )
    assert batched == 2 * 4 * 3 * 5 * 7


def test_loops_count_as_often_as_they_run_and_of_branches_the_longest() -> None:
    def repeated(a: jax.Array) -> jax.Array:
        return jax.lax.scan(lambda carry, _: (carry @ a, None), a, length=6)[0]

    def either(a: jax.Array) -> Any:
        return jax.lax.cond(a.sum() > 0, lambda: a @ a, lambda: a @ a @ a)

    assert operations(jax.jit(repeated), array(3, 3)) == 6 * 2 * 27
    assert operations(either, array(3, 3)) == 2 * 2 * 27


# Multiplications of a forward pass. Those of resnet_50 and vgg_11 are torchvision's "GFLOPS".
MULTIPLICATIONS: dict[tuple[str, Form], float] = {
    ("fc_64_64_64", GREY_28): 784 * 64 + 2 * 64 * 64 + 64 * 10,
    ("simple_cnn_base", GREY_28): (
        28 * 28 * 25 * 32 + 14 * 14 * 25 * 32 * 64 + 7 * 7 * 64 * 1024 + 1024 * 10
    ),
    ("resnet_8", CIFAR_10): (
        9 * (32 * 32 * (3 * 16 + 2 * 16 * 16) + 16 * 16 * (16 * 32 + 32 * 32))
        + 9 * 8 * 8 * (32 * 64 + 64 * 64)
        + 64 * 10
    ),
    ("resnet_50", IMAGENET): 4.09e9,
    ("vgg_11", IMAGENET): 7.61e9,
    # Two layers: four projections, scores and sums of values, the feed-forward layer; logits.
    ("transformer_tiny", TextForm(vocabulary=300, length=16)): (
        16 * (2 * (4 * 64 * 64 + 2 * 16 * 64 + 2 * 64 * 256) + 64 * 300)
    ),
    # Of inputs and of outputs to four gates, the projection, and logits, at each of 16 tokens.
    ("lstm", TextForm(vocabulary=300, length=16)): (
        16 * (2 * 512 * 4 * 2048 + 2048 * 512 + 512 * 300)
    ),
}


@pytest.mark.parametrize(
    ("model", "form"),
    [
        pytest.param(*each, marks=pytest.mark.slow) if each[0] == "resnet_50" else each
        for each in MULTIPLICATIONS
    ],
)
def test_forward_passes(model: str, form: Form) -> None:
    expected = 2 * MULTIPLICATIONS[model, form]
    found = forward_operations(model, form, "float32")
    assert found == pytest.approx(expected, rel=1e-3 if expected > 1e9 else 0, abs=0)


def test_texts_twice_as_long_take_twice_as_many_and_more() -> None:
    short = TextForm(vocabulary=300, length=16)
    once, twice = (
        forward_operations("transformer_tiny", replace(short, length=length), "bfloat16")
        for length in (16, 32)
    )
    assert twice == 2 * once + 2 * 2 * 32 * 2 * 16 * 64
