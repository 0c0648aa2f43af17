"""Forms of examples, as far as models and objectives depend on them."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from dbtool.core.errors import UsageError

PADDING = 0
"""The token that fills up a text; it is not a part of the loss."""


@dataclass(frozen=True, slots=True)
class ImageForm:
    """Images with class labels.

    Models see `(pixel / 255 - mean) / deviation`, a mean and deviation a channel, or each image by
    its own.

    Attributes:
        height: in pixels.
        width: in pixels.
        channels: 1 for grey, 3 for red, green and blue.
        classes: how many classes the labels name, from zero.
        multi_label: whether an image may have any number of classes instead of exactly one.
        mean: subtracted from the scaled pixels of each channel.
        deviation: what they are then divided by.
        by_image: whether instead each image is standardised by the mean and deviation of all its
            pixels and channels, as TensorFlow's per_image_standardization does: by a deviation of
            at least one divided by the root of their number, in levels from 0 to 255.
        input_dtype: the type of an example's inputs.
    """

    input_dtype: ClassVar[str] = "uint8"

    height: int
    width: int
    channels: int
    classes: int
    multi_label: bool = False
    mean: tuple[float, ...] = (0.0,)
    deviation: tuple[float, ...] = (1.0,)
    by_image: bool = False

    @property
    def evaluated(self) -> Self:
        """Return the form of the examples of validation and test."""
        return self

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Return the shape of an example's inputs; grey images have no axis of channels."""
        size = (self.height, self.width)
        return size if self.channels == 1 else (*size, self.channels)

    @property
    def target_shape(self) -> tuple[int, ...]:
        """Return the shape of an example's targets: a class, or whether each is there."""
        return (self.classes,) if self.multi_label else ()

    @property
    def target_dtype(self) -> str:
        """Return the type of an example's targets in the data sets of this package."""
        return "uint8" if self.multi_label or self.classes <= 256 else "int32"

    @property
    def logits_shape(self) -> tuple[int, ...]:
        """The shape of what a model returns for an example."""
        return (self.classes,)

    @property
    def objective(self) -> str:
        """What training minimises unless a workload names another objective."""
        return "multi_label" if self.multi_label else "classification"


@dataclass(frozen=True, slots=True)
class TextForm:
    """Texts as subword tokens, each predicted from those before it.

    Attributes:
        vocabulary: number of different tokens, PADDING among them.
        length: tokens of an example; longer texts are cut, shorter ones are padded.
        evaluation_length: tokens of an example of validation and test at most; None for `length`.
        input_dtype: the type of an example's inputs.
        target_dtype: that of its targets.
        objective: what training minimises unless a workload names another objective.
    """

    input_dtype: ClassVar[str] = "int32"
    target_dtype: ClassVar[str] = "int32"
    objective: ClassVar[str] = "next_token"

    vocabulary: int
    length: int
    evaluation_length: int | None = None

    @property
    def evaluated(self) -> Self:
        """Return the form of the examples of validation and test."""
        return replace(self, length=self.evaluation_length or self.length)

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Return the shape of an example's inputs, which is that of its targets."""
        return (self.length,)

    target_shape = input_shape

    @property
    def logits_shape(self) -> tuple[int, ...]:
        """The shape of what a model returns for an example."""
        return (self.length, self.vocabulary)


@dataclass(frozen=True, slots=True)
class ArrayForm:
    """Arrays of numbers, such as the rows of a table, with class labels or numbers to predict.

    Models see the numbers as they are: standardise them when they are loaded.

    Attributes:
        shape: shape of an example's inputs, such as (30,) for a table of 30 columns.
        classes: number of classes that the labels name, from zero; 0 where numbers are predicted.
        outputs: how many numbers are predicted of an example; 0 where it has a class.

    Raises:
        UsageError: it has both classes and outputs, or neither.

    Example:
        >>> ArrayForm((8,), outputs=1).objective
        'squared_error'
    """

    input_dtype: ClassVar[str] = "float32"

    shape: tuple[int, ...]
    classes: int = 0
    outputs: int = 0

    def __post_init__(self) -> None:
        """Check that the targets are of one kind."""
        if (self.classes > 0) == (self.outputs > 0):
            raise UsageError(
                f"an ArrayForm has either classes or outputs, not {self.classes} and {self.outputs}"
            )

    @property
    def evaluated(self) -> Self:
        """The form of the examples of validation and test."""
        return self

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The shape of an example's inputs."""
        return self.shape

    @property
    def target_shape(self) -> tuple[int, ...]:
        """The shape of an example's targets."""
        return (self.outputs,) if self.outputs else ()

    @property
    def target_dtype(self) -> str:
        """The type of an example's targets."""
        return "float32" if self.outputs else "int32"

    @property
    def logits_shape(self) -> tuple[int, ...]:
        """The shape of what a model returns for an example."""
        return (self.outputs or self.classes,)

    @property
    def objective(self) -> str:
        """What training minimises unless a workload names another objective."""
        return "squared_error" if self.outputs else "classification"


Form = ImageForm | TextForm | ArrayForm

GREY_28 = ImageForm(height=28, width=28, channels=1, classes=10)
"""The images of MNIST and Fashion MNIST, from 0 to 1."""

STANDARDISED_MNIST = replace(GREY_28, mean=(0.1307,), deviation=(0.3081,))
"""The images of MNIST by the mean and deviation of all pixels of the 60,000 training images."""

STANDARDISED_FASHION_MNIST = replace(GREY_28, mean=(0.2860,), deviation=(0.3530,))
"""The images of Fashion MNIST, likewise."""

CIFAR_10 = ImageForm(height=32, width=32, channels=3, classes=10, by_image=True)
"""The images of CIFAR-10, each standardised by itself (recalled)."""

CIFAR_10_BY_CHANNEL = replace(
    CIFAR_10, by_image=False, mean=(0.4914, 0.4822, 0.4465), deviation=(0.2470, 0.2435, 0.2616)
)
"""The images of CIFAR-10 by the mean and deviation of each channel of the training images."""

IMAGENET = ImageForm(
    height=224,
    width=224,
    channels=3,
    classes=1000,
    mean=(0.485, 0.456, 0.406),
    deviation=(0.229, 0.224, 0.225),
)
"""The images of ImageNet by the mean and deviation of each channel (chosen by experiment)."""

OPEN_IMAGES_V4 = replace(IMAGENET, classes=7186, multi_label=True)
"""The images of Open Images v4, with its trainable classes; like those of ImageNet (recalled)."""

LM1B = TextForm(vocabulary=32_000, length=64, evaluation_length=512)
"""The sentences of LM1B, cut to 64 tokens in training alone (recalled).

The longest of validation and test has 476 in the paper's vocabulary (recalled), so that 512 of
another one of the same size leave them whole.
"""

COMMON_CRAWL = TextForm(vocabulary=24_006, length=64, evaluation_length=476)
"""The sentences of Common Crawl, some of them much longer than those of LM1B (recalled)."""

BROWN = TextForm(vocabulary=4_096, length=64)
"""The sentences of the Brown corpus; 64 tokens hold 94 in a hundred of them whole (chosen)."""
