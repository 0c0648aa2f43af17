"""Checks data sets of the user's own: other arrays than were meant might train all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
        DbtoolError: it is none, or has another form or size than the workload says.
    """
    if not isinstance(data, Dataset):
        raise DbtoolError(f"the loader of {request.source} returned {data!r:.60}, no Dataset")
    found, wanted = len(data.train), request.train_examples or len(data.train)
    if (data.form, found) != (request.form, wanted):
        raise DbtoolError(
            f"the loader of {request.source} returned {found} training examples of {data.form}, "
            f"and the workload has {wanted} of {request.form}"
        )
    for name in ("train", "validation", "test"):
        form = data.form if name == "train" else data.form.evaluated
        split = getattr(data, name)
        fault = _fault(split, form) if isinstance(split, Split) else None
        if fault is not None:
            raise DbtoolError(f"of {request.source} the examples of {name} have {fault}")
    return data


def _fault(split: Split, form: Form) -> str | None:
    """In what arrays do not have a form; None where they do."""
    count, inputs, targets = len(split), split.inputs, split.targets
    shape = (count, *form.target_shape)
    classes = form.classes if isinstance(form, ImageForm) else form.vocabulary
    if isinstance(form, ImageForm) and form.multi_label:
        classes = 2
    wanted = f"{form.input_dtype} {(count, *form.input_shape)}"
    if _kind(inputs) != wanted or not count:
        return f"inputs that are {_kind(inputs)}, and should be {wanted}"
    if targets.shape != shape or targets.dtype.kind not in "iu":
        return f"targets that are {_kind(targets)}, and should be integers {shape}"
    if targets.min() < 0 or targets.max() >= classes:
        return f"targets from {targets.min()} to {targets.max()}, and {classes} different ones"
    return None


def _kind(array: npt.NDArray[Any]) -> str:
    return f"{array.dtype} {array.shape}"
