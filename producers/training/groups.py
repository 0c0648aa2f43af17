"""Functions of one trial, applied to a group of trials side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

if TYPE_CHECKING:
    from collections.abc import Callable


Axes = int | tuple[int | None, ...]


def of_group(function: Callable[..., Any], axes: Axes = 0) -> Callable[..., Any]:
    """Make a function of a group of trials from one that says what becomes of each trial.

    A group of one is computed without its trial axis: the axis is removed before `function` is
    called and added to what it returns. XLA makes slower code for products with a batch axis of
    one, and where a loop's body removes the axis it copies every weight at every step
    (benchmarks/models.py measures both).

    Args:
        function: takes `each`, then the arrays of the group. `each(f, axes)` is `f`, a function of
            one trial, applied to each trial of the group: `jax.vmap`, or `f` itself.
        axes: as `jax.vmap` takes it: which axis of each argument has the trials; the first must.
    """

    def grouped(*arguments: Any) -> Any:
        if jax.tree.leaves(arguments[0])[0].shape[0] > 1:
            return function(jax.vmap, *arguments)
        axis_of = axes if isinstance(axes, tuple) else (axes,) * len(arguments)
        of_the_only = [
            argument if axis is None else jax.tree.map(lambda array: array[0], argument)
            for argument, axis in zip(arguments, axis_of, strict=True)
        ]
        result = function(lambda of_one, _: of_one, *of_the_only)
        return jax.tree.map(lambda array: array[None], result)

    return grouped


def of_each(function: Callable[..., Any], axes: Axes = 0) -> Callable[..., Any]:
    """Make a function of a group of trials from a function of one trial; see `of_group`."""
    return of_group(lambda each, *arguments: each(function, axes)(*arguments), axes)


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
