"""SOAP: Adam in the eigenbases of Shampoo's preconditioner (Vyas et al., 2024, algorithm 3).

optax 0.2.8 has none. With G the gradient, G_i the same as a matrix with a row for each place on
axis i, and average(b, x) for a <- b a + (1 - b) x, corrected for its start at zero where ^ stands:

    G' and M'   G and average(beta1, G), axis by axis in the bases Q_i
    d           ^M' / (sqrt(^average(beta2, G'^2)) + epsilon), out of the bases again
    H_i         average(beta2, G_i G_i^T)
    Q_i         the orthogonal factor of H_i Q_i, columns in the order of diag(Q_i^T H_i Q_i)

As in the authors' program, the first gradient does no more than to set the bases, biases have none,
and bases turn at every tenth step. Chosen: they start from the identity and turn at each of the
first ten steps, in place of a decomposition of the first H, which trials in one program would pay
for at every step; axes of more than 512 places have none.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from producers.training.optimizers import weight_matrices

OfAxes = tuple[jax.Array | None, ...]

_INTERVAL = 10
_LONGEST_AXIS = 512


class ParameterState(NamedTuple):
    """What SOAP carries of one parameter.

    Attributes:
        first: the average gradient.
        second: the average square of the gradient in the bases.
        grams: H of each axis, float32 [places, places]; None for one without a basis.
        bases: likewise, Q, a column for each place in the basis.
    """

    first: jax.Array
    second: jax.Array
    grams: OfAxes
    bases: OfAxes


class SoapState(NamedTuple):
    """What SOAP carries from step to step.

    Attributes:
        seen: int32 scalar, gradients until now.
        leaves: of each parameter.
    """

    seen: jax.Array
    leaves: list[ParameterState]


def scale_by_soap(
    beta1: jax.Array, beta2: jax.Array, epsilon: jax.Array
) -> optax.GradientTransformation:
    """Turn gradients into SOAP's directions.

    Takes the decay of the average gradient, that of all other averages, and what is added below the
    line, float32 scalars.
    """

    def init(parameters: Any) -> SoapState:
        leaves = jax.tree.leaves(parameters)
        are_matrices = jax.tree.leaves(weight_matrices(parameters))
        return SoapState(jnp.zeros((), jnp.int32), list(map(_start, leaves, are_matrices)))

    def update(gradients: Any, state: SoapState, parameters: Any = None) -> tuple[Any, SoapState]:
        del parameters
        flat, form = jax.tree.flatten(gradients)
        directions, leaves = [], []
        for gradient, leaf in zip(flat, state.leaves, strict=True):
            averaged = _averaged(leaf, gradient, state.seen, beta1, beta2)
            directions.append(_direction(averaged, state.seen, beta1, beta2, epsilon))
            leaves.append(_observed(averaged, gradient, beta2))
        turns = (state.seen < _INTERVAL) | (state.seen % _INTERVAL == 0)
        leaves = jax.lax.cond(turns, lambda each: list(map(_turned, each)), list, leaves)
        return jax.tree.unflatten(form, directions), SoapState(state.seen + 1, leaves)

    return optax.GradientTransformation(init, update)


def in_own_metric(state: SoapState, epsilon: jax.Array, gradients: Any) -> list[Any]:
    """Return gradients in the bases, each divided by the root of what SOAP divides it by there.

    Their norm is that in SOAP's own metric, as `measures` takes it.
    """
    return [
        _in_bases(gradient, leaf.bases) * (jnp.sqrt(leaf.second) + epsilon) ** -0.5
        for leaf, gradient in zip(state.leaves, jax.tree.leaves(gradients), strict=True)
    ]


def _start(parameter: jax.Array, is_matrix: bool) -> ParameterState:
    zeros = jnp.zeros_like(parameter)
    has_basis = [is_matrix and places <= _LONGEST_AXIS for places in parameter.shape]
    sizes = list(zip(parameter.shape, has_basis, strict=True))
    return ParameterState(
        zeros,
        zeros,
        tuple(jnp.zeros((places, places)) if has else None for places, has in sizes),
        tuple(jnp.eye(places) if has else None for places, has in sizes),
    )


def _averaged(
    leaf: ParameterState, gradient: jax.Array, seen: jax.Array, beta1: jax.Array, beta2: jax.Array
) -> ParameterState:
    """With the gradient in its averages, unless it is the first."""
    weight1, weight2 = ((seen > 0) * (1 - beta) for beta in (beta1, beta2))
    square = _in_bases(gradient, leaf.bases) ** 2
    return leaf._replace(
        first=leaf.first + weight1 * (gradient - leaf.first),
        second=leaf.second + weight2 * (square - leaf.second),
    )


def _direction(
    leaf: ParameterState, seen: jax.Array, beta1: jax.Array, beta2: jax.Array, epsilon: jax.Array
) -> jax.Array:
    """Adam's direction in the bases; zero of the first gradient, which is in no average."""
    averages = jnp.maximum(seen, 1)
    first = _in_bases(leaf.first, leaf.bases) / (1 - beta1**averages)
    second = leaf.second / (1 - beta2**averages)
    return _in_bases(first / (jnp.sqrt(second) + epsilon), leaf.bases, back=True)


def _observed(leaf: ParameterState, gradient: jax.Array, beta2: jax.Array) -> ParameterState:
    """With the gradient in H."""

    def observed(axis: int, gram: jax.Array) -> jax.Array:
        rows = jnp.moveaxis(gradient, axis, 0).reshape(gradient.shape[axis], -1)
        return beta2 * gram + (1 - beta2) * rows @ rows.T

    grams = (None if h is None else observed(axis, h) for axis, h in enumerate(leaf.grams))
    return leaf._replace(grams=tuple(grams))


def _turned(leaf: ParameterState) -> ParameterState:
    """With the bases turned once towards the eigenvectors of H."""
    second, bases = leaf.second, list(leaf.bases)
    for axis, (gram, basis) in enumerate(zip(leaf.grams, leaf.bases, strict=True)):
        if gram is not None and basis is not None:
            product = gram @ basis
            order = jnp.argsort(-(basis * product).sum(0))
            second = jnp.take(second, order, axis)
            bases[axis] = jnp.linalg.qr(product[:, order])[0]
    return leaf._replace(second=second, bases=tuple(bases))


def _in_bases(array: jax.Array, bases: OfAxes, *, back: bool = False) -> jax.Array:
    """Return an array in the bases of its axes, or out of them again."""
    for axis, basis in enumerate(bases):
        if basis is not None:
            turned = jnp.tensordot(array, basis, ([axis], [1 if back else 0]))
            array = jnp.moveaxis(turned, -1, axis)
    return array
