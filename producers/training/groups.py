"""Functions of one trial, applied to a group of trials side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax

if TYPE_CHECKING:
    from collections.abc import Callable


def of_each(function: Callable[..., Any], axes: int | tuple[int | None, ...] = 0) -> Any:
    """A function of one trial, as a function of a group of them.

    A group of one is not vmapped: XLA makes slower code for products with a batch axis of one
    (benchmarks/models.py measures it).

    Args:
        function: takes arrays, or trees of them, of one trial.
        axes: which axis of each argument has the trials, None for what they share, as `jax.vmap`
            takes it; the first argument must have one.
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
