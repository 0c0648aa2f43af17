"""What is asked of a loader."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbtool.errors import UsageError
from producers.datasets.forms import ImageForm, TextForm
from producers.datasets.permutation import RANDOM_5_000

if TYPE_CHECKING:
    from pathlib import Path

    from producers.datasets.forms import Form
    from producers.datasets.permutation import HeldOut


@dataclass(frozen=True, slots=True)
class Request:
    """A data set as a workload wants it.

    Attributes:
        source: the data set's name, such as `cifar_10`.
        form: what its examples shall look like.
        subset: a part of it that has a name, such as `half_classes`; None for the whole.
        train_examples: how many examples to train on; None for all that are not held out.
        folder: a folder to read instead of the known data set, in the same format; None for the
            known data set.
        datasets_dir: a folder that holds data sets; DBTOOL_DATASETS by default.
        vocabulary: a SentencePiece model to take as a text data set's subword vocabulary; None to
            have one trained.
        held_out: the training examples that are not trained on, of a data set that leaves the
            choice.
    """

    source: str
    form: Form
    subset: str | None = None
    train_examples: int | None = None
    folder: Path | None = None
    datasets_dir: Path | None = None
    vocabulary: Path | None = None
    held_out: HeldOut = RANDOM_5_000

    def image_form(self, channels: int) -> ImageForm:
        """The form, of a data set of images with so many channels.

        Raises:
            UsageError: the form is another.
        """
        form = self.form
        if not isinstance(form, ImageForm) or form.channels != channels:
            raise UsageError(
                f"{self.source} has images of {channels} channels, which is not what was asked for:"
                f" {form}"
            )
        return form

    def text_form(self) -> TextForm:
        """The form, of a data set of texts.

        Raises:
            UsageError: the form is another.
        """
        form = self.form
        if not isinstance(form, TextForm):
            raise UsageError(f"{self.source} has texts, which is not what was asked for: {form}")
        return form

    def without_subset(self) -> None:
        """Refuses a subset, of a data set that has none with a name.

        Raises:
            UsageError: a subset is asked for.
        """
        if self.subset is not None:
            raise UsageError(
                f"{self.source} has no subset {self.subset!r}; only imagenet has some:"
                " half_classes and half_images"
            )

    def without_held_out(self) -> None:
        """Refuses other held-out examples, of a data set whose loader alone says which.

        Raises:
            UsageError: others are asked for.
        """
        if self.held_out != RANDOM_5_000:
            raise UsageError(
                f"which examples {self.source} holds out cannot be chosen; only mnist,"
                " fashion_mnist and cifar_10 leave the choice"
            )
