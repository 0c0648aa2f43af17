"""Which parameters are weight matrices: pruned, decayed and scaled layer by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    import jax

# An attention layer's bias has an axis for the heads beside that of a head's units.
_VECTORS = frozenset({"bias", "scale"})


def weight_matrices(parameters: Any, *, embeddings: bool = True) -> Any:
    """Bools in the form of the parameters: True for kernels of any number of axes above one.

    Biases and the scales of normalisation are not, however many axes they have; embedding tables
    count if wanted.
    """
    from jax.tree_util import tree_map_with_path

    def is_matrix(path: Sequence[Any], array: jax.Array) -> bool:
        name = next(reversed(names(path)), None)
        return array.ndim >= 2 and name not in _VECTORS and (embeddings or name != "embedding")

    return tree_map_with_path(is_matrix, parameters)


def names(path: Sequence[Any]) -> list[str]:
    """The names on a path in a pytree of parameters: of the layers, then of the parameter."""
    return [key.key for key in path if isinstance(getattr(key, "key", None), str)]
