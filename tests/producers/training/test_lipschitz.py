"""Lipschitz constants and eigenvalues of quadratics, whose Hessian is known."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from producers.training.lipschitz import (
    gradient_lipschitz_constant,
    hessian_times,
    largest_eigenvalue,
)

# The Hessian of w^T A w / 2, with eigenvalues 9, -4, 2 and 1 in a basis of its own.
EIGENVALUES = np.array([9.0, -4.0, 2.0, 1.0])
BASIS = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
HESSIAN = jnp.asarray(BASIS @ np.diag(EIGENVALUES) @ BASIS.T, jnp.float32)

Tree = dict[str, jax.Array]


def vector(tree: Tree) -> jax.Array:
    return jnp.concatenate([tree["kernel"].ravel(), tree["bias"]])


def as_tree(vector: np.ndarray | jax.Array) -> Tree:
    values = jnp.asarray(vector, jnp.float32)
    return {"kernel": values[:3].reshape(3, 1), "bias": values[3:]}


def quadratic(parameters: Tree) -> jax.Array:
    weights = vector(parameters)
    return weights @ HESSIAN @ weights / 2


PARAMETERS = as_tree(np.array([1.0, -2.0, 0.5, 3.0]))


@pytest.mark.parametrize("index", range(4))
def test_of_a_quadratic_along_an_eigenvector_is_its_eigenvalue(index: int) -> None:
    update = as_tree(0.3 * BASIS[:, index])
    found = gradient_lipschitz_constant(jax.grad(quadratic), PARAMETERS, update)
    assert float(found) == pytest.approx(abs(EIGENVALUES[index]), rel=1e-4)


def test_of_a_quadratic_in_a_moved_subspace_is_the_rate_of_that_direction() -> None:
    direction = BASIS[:, 1] + BASIS[:, 2]
    found = gradient_lipschitz_constant(jax.grad(quadratic), PARAMETERS, as_tree(direction))
    # |A (v2 + v3)| / |v2 + v3| = sqrt((4^2 + 2^2) / 2)
    assert float(found) == pytest.approx(10**0.5, rel=1e-4)


def test_is_the_greatest_over_the_way() -> None:
    # L = |w|^3 / 3 for one weight: L' = w |w|. From 1 by u = 2 to 1 + 2 f: (4 f + 4 f^2) / 2 f.
    def gradient(weight: jax.Array) -> jax.Array:
        return weight * jnp.abs(weight)

    found = gradient_lipschitz_constant(gradient, jnp.float32(1), jnp.float32(2))
    assert float(found) == pytest.approx(2 + 2 * 0.9, rel=1e-5)
    found = gradient_lipschitz_constant(gradient, jnp.float32(1), jnp.float32(2), (0.25, 1.0))
    assert float(found) == pytest.approx(4, rel=1e-5)


def test_a_step_that_goes_nowhere_has_none() -> None:
    nowhere = jax.tree.map(jnp.zeros_like, PARAMETERS)
    assert np.isnan(gradient_lipschitz_constant(jax.grad(quadratic), PARAMETERS, nowhere))


def test_products_with_the_hessian() -> None:
    direction = np.array([1.0, 2.0, 3.0, 4.0])
    found = hessian_times(jax.grad(quadratic), PARAMETERS, as_tree(direction))
    np.testing.assert_allclose(vector(found), HESSIAN @ direction, rtol=1e-5)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_eigenvalue_has_its_sign(sign: int) -> None:
    def times(direction: Tree) -> Tree:
        return hessian_times(jax.grad(lambda at: sign * quadratic(at)), PARAMETERS, direction)

    start = as_tree(np.ones(4))
    assert float(largest_eigenvalue(times, start)) == pytest.approx(9 * sign, rel=1e-4)
    # One product gives the Rayleigh quotient of the start.
    assert float(largest_eigenvalue(times, start, 1)) == pytest.approx(
        float(sign * HESSIAN.sum() / 4), rel=1e-4
    )


def test_flat_ground_has_eigenvalue_zero() -> None:
    assert largest_eigenvalue(jnp.zeros_like, jnp.ones(3)) == 0
