"""The Lipschitz constant of the gradient along training (Lee et al., 2021).

Between an iterate w and the next, w + u, it is estimated as

    max over f of ||grad L(w + f u) - grad L(w)|| / (f ||u||),   f = 0.1, 0.2, ..., 0.9

with the gradient over many training examples: the most that the gradient changes on the way, for
the length of that way. The formula and the fractions are stated by the authors' public program,
which takes the whole training set.

It sees the curvature along the step alone. The most that the gradient changes for a small step in
any direction is the largest |eigenvalue| of the Hessian, found by power iteration with products of
the Hessian and a vector (chosen: the paper has no such measure).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import optax

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FRACTIONS = tuple(tenths / 10 for tenths in range(1, 10))

# Two eigenvalues that differ by a tenth are then apart by 0.9^40 = 0.015 in the Rayleigh quotient.
POWER_ITERATIONS = 20


def gradient_lipschitz_constant(
    gradient: Callable[[Any], Any],
    parameters: Any,
    update: Any,
    fractions: Sequence[float] = FRACTIONS,
) -> jax.Array:
    """The greatest change of the gradient on the way of one step, for each unit of that way.

    Args:
        gradient: from parameters, the gradient of the loss in the same form.
        parameters: w, a pytree of float32 arrays.
        update: u in the same form: the next iterate less this one.
        fractions: of the way, each above 0.

    Returns:
        float32 scalar; NaN when nothing moves.
    """
    here = gradient(parameters)
    length = optax.tree.norm(update)

    def at(fraction: jax.Array) -> jax.Array:
        there = gradient(optax.tree.add_scale(parameters, fraction, update))
        ratio: jax.Array = optax.tree.norm(optax.tree.sub(there, here)) / (fraction * length)
        return ratio

    # One fraction after the other: a gradient takes as much memory as the training step.
    constant: jax.Array = jax.lax.map(at, jnp.asarray(fractions, jnp.float32)).max()
    return constant


def hessian_times(gradient: Callable[[Any], Any], parameters: Any, direction: Any) -> Any:
    """The Hessian's product with a direction, at about the cost of three gradients.

    Args:
        gradient: from parameters, the gradient of the loss in the same form; differentiable.
        parameters: where to take the Hessian, a pytree of float32 arrays.
        direction: in the same form.
    """
    # Backwards twice, since a custom derivative need not have a forward mode.
    return jax.grad(lambda at: optax.tree.vdot(gradient(at), direction))(parameters)


def largest_eigenvalue(
    times: Callable[[Any], Any], start: Any, iterations: int = POWER_ITERATIONS
) -> jax.Array:
    """The eigenvalue of the largest magnitude of a symmetric matrix, by power iteration.

    Args:
        times: the matrix's product with a vector, pytrees of float32 arrays.
        start: a vector that is not orthogonal to the eigenvector.
        iterations: products, at least one.

    Returns:
        float32 scalar, the Rayleigh quotient of the last vector that was multiplied: it has the
        eigenvalue's sign once iterations suffice, and never a larger magnitude, up to rounding.
    """

    def one_more(_: jax.Array, carry: tuple[Any, jax.Array]) -> tuple[Any, jax.Array]:
        vector, _eigenvalue = carry
        product = times(vector)
        return _unit(product), optax.tree.vdot(vector, product)

    carry = _unit(start), jnp.zeros((), jnp.float32)
    eigenvalue: jax.Array = jax.lax.fori_loop(0, iterations, one_more, carry)[1]
    return eigenvalue


def _unit(direction: Any) -> Any:
    """The direction at length 1; zeros stay."""
    norm = optax.tree.norm(direction)
    return optax.tree.scale(1 / jnp.where(norm > 0, norm, 1), direction)
