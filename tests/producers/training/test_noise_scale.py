"""Moments of gradients whose mean and covariance are known."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from producers.training.noise_scale import gradient_moments, moments_from_norms


def mean_gradient(examples: jax.Array) -> dict[str, jax.Array]:
    """Each example is its own gradient."""
    mean = examples.mean(0)
    return {"kernel": mean[:2], "bias": mean[2:]}


def test_two_slices_worked_by_hand() -> None:
    # Slices of 2 with means (3, 1, 0) and (1, 1, 2): |G_b|^2 = (10 + 6) / 2 = 8.
    # All 4: mean (2, 1, 1): |G_B|^2 = 6. |G|^2 = (4 * 6 - 2 * 8) / 2, trace = (8 - 6) / (1/2 - 1/4)
    slices = jnp.array([[[2.0, 2, 0], [4, 0, 0]], [[1, 0, 4], [1, 2, 0]]])
    found = gradient_moments(mean_gradient, slices, 2)
    assert float(found.gradient_squared_norm) == pytest.approx(4)
    assert float(found.gradient_covariance_trace) == pytest.approx(8)


def test_gradients_that_are_all_the_same_have_no_noise() -> None:
    found = gradient_moments(mean_gradient, jnp.full((5, 4, 3), 2.0), 4)
    assert float(found.gradient_squared_norm) == pytest.approx(12)
    assert float(found.gradient_covariance_trace) == pytest.approx(0, abs=1e-5)


def test_estimates_are_unbiased() -> None:
    """Gaussian gradients with |G|^2 = 14 and tr(Sigma) = 35, in many made-up evaluations."""
    mean, deviations = np.array([1.0, 2.0, -3.0]), np.array([1.0, 3.0, 5.0])
    random = np.random.default_rng(11)
    evaluations, slices, examples = 4_000, 5, 8
    drawn = random.normal(mean, deviations, (evaluations, slices, examples, 3))
    estimate = jax.jit(
        jax.vmap(partial(gradient_moments, mean_gradient, examples_a_slice=examples))
    )
    found = estimate(jnp.asarray(drawn, jnp.float32))
    for values, expected in (
        (found.gradient_squared_norm, 14),
        (found.gradient_covariance_trace, 35),
    ):
        standard_error = np.std(values) / evaluations**0.5
        assert standard_error < expected / 50
        assert float(np.mean(values)) == pytest.approx(expected, abs=3 * float(standard_error))


def test_two_batches_of_any_size() -> None:
    # Expected squared norms 4 + 60 / 10 and 4 + 60 / 30 give back 4 and 60.
    found = moments_from_norms(jnp.float32(10), jnp.float32(6), 10, 30)
    assert float(found.gradient_squared_norm) == pytest.approx(4)
    assert float(found.gradient_covariance_trace) == pytest.approx(60)


def test_one_slice_is_not_enough() -> None:
    with pytest.raises(ValueError, match="at least 2 slices of examples, got 1"):
        gradient_moments(mean_gradient, jnp.ones((1, 4, 3)), 4)
