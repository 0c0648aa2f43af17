"""Checks data sets of the user's own: what known loaders promise, these are told where they do not.

Arrays of another type or shape would train, and on something else than was meant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dbtool.core.errors import DbtoolError
from producers.datasets.forms import ImageForm
from producers.datasets.split import Dataset, Split

if TYPE_CHECKING:
    import numpy.typing as npt

    from producers.datasets.forms import Form
    from producers.datasets.split import Request


def checked(data: object, request: Request) -> Dataset:
    """A data set as its loader returned it.

    Raises:
        DbtoolError: it is none, has another form or size than the workload says, or holds arrays
            that do not have its form.
    """
    wanted, name = request.train_examples, request.source
    if not isinstance(data, Dataset):
        raise DbtoolError(
            f"the loader of {name} returned {type(data).__name__}, and should return a Dataset"
        )
    if data.form != request.form:
        raise DbtoolError(
            f"the loader of {name} returned examples of the form {data.form}, and the workload "
            f"has {request.form}; give both the same"
        )
    if wanted is not None and len(data.train) != wanted:
        raise DbtoolError(
            f"{name} has {len(data.train):,} training examples, and the workload says {wanted:,}; "
            f"give it train_examples={len(data.train)}"
        )
    evaluated = data.form.evaluated
    _check_arrays(data.train, f"{name}'s train", data.form)
    _check_arrays(data.validation, f"{name}'s validation", evaluated)
    _check_arrays(data.test, f"{name}'s test", evaluated)
    return data


def _check_arrays(split: object, name: str, form: Form) -> None:
    """Refuses arrays that are not of a form; what is read when it is needed passes."""
    if not isinstance(split, Split):
        return
    inputs, targets = split.inputs, split.targets
    count, shape = len(inputs), form.input_shape
    if not isinstance(form, ImageForm):
        labels, classes = shape, form.vocabulary
    elif form.multi_label:
        labels, classes = (form.classes,), 2
    else:
        labels, classes = (), form.classes
    if not count or (inputs.shape[1:], inputs.dtype) != (shape, np.dtype(form.input_dtype)):
        raise DbtoolError(
            f"{name} inputs are {_kind(inputs)}, and should be "
            f"{form.input_dtype} {_shape('examples', *shape)}"
        )
    if targets.shape != (count, *labels) or targets.dtype.kind not in "iu":
        raise DbtoolError(
            f"{name} targets are {_kind(targets)}, and should be whole numbers "
            f"{_shape(count, *labels)}"
        )
    if targets.min() < 0 or targets.max() >= classes:
        raise DbtoolError(
            f"{name} targets go from {targets.min()} to {targets.max()}, and should lie from 0 to "
            f"{classes - 1}"
        )


def _kind(array: npt.NDArray[Any]) -> str:
    return f"{array.dtype} {_shape(*array.shape)}"


def _shape(*sizes: object) -> str:
    return f"[{', '.join(map(str, sizes))}]"
