"""Count the operations of a function's matrix products, whatever device it is for.

XLA's own count is there on a CPU alone, and takes a loop's body once.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr

from producers.training.step import trainer

if TYPE_CHECKING:
    from collections.abc import Callable

    from producers.datasets.forms import Form


@functools.cache
def forward_operations(model: str, form: Form, dtype: str) -> int:
    """Count the operations of a model's forward pass of one example.

    Training takes about three times as many: the gradients by activations and by weights take as
    many as the forward pass each.
    """
    functions = trainer(model, "sgd", "constant", form, dtype)
    state = jax.eval_shape(functions.start, jax.ShapeDtypeStruct((), "uint32"))
    example = jax.ShapeDtypeStruct((1, *form.input_shape), form.input_dtype)
    return operations(functions.logits, state.parameters, state.statistics, example)


def operations(function: Callable[..., Any], *arguments: Any) -> int:
    """Count the multiplications and additions of a function's matrix products and convolutions.

    Zeros around images count as what they are multiplied with. Of branches the longest counts; a
    loop counts as often as it runs where that follows from its shapes, else once.

    Args:
        function: of arrays, or of trees of them.
        arguments: these, or their shapes and types.
    """
    return _of_jaxpr(jax.make_jaxpr(function)(*arguments).jaxpr)


def _of_jaxpr(jaxpr: Jaxpr) -> int:
    return sum(_of_equation(equation) for equation in jaxpr.eqns)


def _of_equation(equation: Any) -> int:
    name, parameters = equation.primitive.name, equation.params
    if name in {"dot_general", "conv_general_dilated"}:
        left, right = (operand.aval.shape for operand in equation.invars)
        dimensions = parameters["dimension_numbers"]
        summed = (
            [left[axis] for axis in dimensions[0][0]]
            if name == "dot_general"
            else [right[axis] for axis in dimensions.rhs_spec[1:]]
        )
        return 2 * int(math.prod(equation.outvars[0].aval.shape) * math.prod(summed))
    inner = [
        _of_jaxpr(leaf.jaxpr if isinstance(leaf, ClosedJaxpr) else leaf)
        for leaf in jax.tree.leaves(list(parameters.values()))
        if isinstance(leaf, ClosedJaxpr | Jaxpr)
    ]
    if name == "cond":
        return max(inner)
    return sum(inner) * (parameters["length"] if name == "scan" else 1)
