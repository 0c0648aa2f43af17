"""What a model is to those that train it, and whether it takes a data set's examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbtool.errors import UsageError
from producers.datasets.forms import ImageForm

if TYPE_CHECKING:
    from collections.abc import Callable

    from flax import nnx
    from jax.typing import DTypeLike

    from producers.datasets.forms import Form, TextForm


@dataclass(frozen=True)
class ModelDefinition:
    """A model as a workload names it.

    Attributes:
        name: such as fc_64_64_64 or simple_cnn_base.
        settings: what sets the model apart, for the record: setting to value.
        certainty: setting to stated, recalled or chosen.
        evaluation_batch: examples evaluated at a time; sets the memory that evaluation takes,
            and suits the cache of a CPU core.
        build: makes the module for examples of a form, computing in a floating-point type with
            weights in float32; imports flax only when called. The module is called with float32
            images [batch, height, width, channels] or int32 tokens [batch, length] and `train`,
            and returns logits. Raises UsageError for a form that the model does not take.
    """

    name: str
    settings: dict[str, object]
    certainty: dict[str, str]
    evaluation_batch: int
    build: Callable[[Form, DTypeLike, nnx.Rngs], nnx.Module]


def images_for(model: str, form: Form, smallest: int = 1) -> ImageForm:
    """The form, of images.

    Args:
        model: that takes images.
        form: of the examples.
        smallest: the fewest pixels that their sides may have.

    Raises:
        UsageError: when the form is of texts or of smaller images.
    """
    if not isinstance(form, ImageForm):
        raise UsageError(
            f"the model {model} takes images, and the data set holds texts; choose a workload "
            "whose model is a Transformer or lstm (list them with `dbtool produce --list`)"
        )
    if min(form.height, form.width) < smallest:
        raise UsageError(
            f"the model {model} takes images of at least {smallest}x{smallest} pixels, and those "
            f"of the data set have {form.height}x{form.width}; choose larger images or another "
            "workload (list them with `dbtool produce --list`)"
        )
    return form


def texts_for(model: str, form: Form) -> TextForm:
    """The form, of texts.

    Raises:
        UsageError: when it is of images.
    """
    if isinstance(form, ImageForm):
        raise UsageError(
            f"the model {model} takes texts, and the data set holds images; choose a workload "
            "whose model takes images (list them with `dbtool produce --list`)"
        )
    return form
