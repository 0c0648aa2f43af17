"""Functions of one trial, applied to a group of trials side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

if TYPE_CHECKING:
    from collections.abc import Callable


def of_each(function: Callable[..., Any], axes: int | tuple[int | None, ...] = 0) -> Any:
    """A function of one trial, as a function of a group of them.

    A group of one is not vmapped: XLA makes slower code for products with a batch axis of one
    (benchmarks/models.py measures it).

    Args:
        function: takes arrays, or trees of them, of one trial.
        axes: as `jax.vmap` takes it: which axis of each argument has the trials; the first must.
    """

    def of_group(*arguments: Any) -> Any:
        axis_of = axes if isinstance(axes, tuple) else (axes,) * len(arguments)
        if jax.tree.leaves(arguments[0])[0].shape[0] > 1:
            return jax.vmap(function, axis_of)(*arguments)
        of_the_only = [
            argument if axis is None else jax.tree.map(lambda array: array[0], argument)
            for argument, axis in zip(arguments, axis_of, strict=True)
        ]
        return jax.tree.map(lambda array: array[None], function(*of_the_only))

    return of_group


def of_each_if_any(function: Callable[..., Any], fill: float) -> Any:
    """Like `of_each`, but a group that has no trial alive is filled instead of computed.

    What is returned takes first which trials are alive, bool [trials], then the arguments.
    """
    # Traced once for its shapes and its code; inlined, it compiles as if it were called directly.
    computed = jax.jit(of_each(function), inline=True)

    def filled(*arguments: Any) -> Any:
        like = jax.eval_shape(computed, *arguments)
        return jax.tree.map(lambda array: jnp.full(array.shape, fill, array.dtype), like)

    def of_group(alive: jax.Array, *arguments: Any) -> Any:
        return jax.lax.cond(alive.any(), computed, filled, *arguments)

    return of_group
