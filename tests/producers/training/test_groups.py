"""A group of one trial is that trial, without a batch axis in what is compiled."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from producers.training.groups import of_each


def product(state: dict[str, jax.Array], inputs: jax.Array) -> tuple[jax.Array, jax.Array]:
    return inputs @ state["weights"], state["bias"] + 1


@pytest.mark.parametrize("count", [1, 3])
def test_each_trial_takes_its_own_and_what_is_shared(count: int) -> None:
    weights = jnp.arange(6.0 * count).reshape(count, 2, 3)
    state = {"weights": weights, "bias": jnp.arange(count)}
    inputs = jnp.array([[1.0, 10.0]])
    products, biases = of_each(product, (0, None))(state, inputs)
    np.testing.assert_array_equal(products, np.einsum("ij,kjl->kil", inputs, weights))
    np.testing.assert_array_equal(biases, np.arange(count) + 1)
    own = jnp.stack([inputs + trial for trial in range(count)])
    products, _ = of_each(product)(state, own)
    np.testing.assert_array_equal(products, np.einsum("kij,kjl->kil", own, weights))


def test_a_group_of_one_has_no_batch_axis() -> None:
    def compiled(count: int) -> str:
        state = {"weights": jnp.ones((count, 2, 3)), "bias": jnp.ones(count)}
        return str(jax.make_jaxpr(of_each(product, (0, None)))(state, jnp.ones((1, 2))))

    assert "f32[1,3] = dot_general" in compiled(1)
    assert "f32[1,3] = dot_general" not in compiled(3)
