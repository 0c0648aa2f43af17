"""Requests for data sets, and their examples, in memory or read when they are needed."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol, Self

import numpy as np
import numpy.typing as npt

from dbtool.core.errors import DbtoolError, UsageError
from producers.datasets.forms import Form, ImageForm, TextForm

Numbers = npt.NDArray[np.int64]

VALIDATION_SPLIT_SEED = 181_103_600
"""Seeds the order of the official training examples: the number of the paper, arXiv:1811.03600."""


def fixed_permutation(count: int, seed: int = VALIDATION_SPLIT_SEED) -> Numbers:
    """Return a fixed random order of so many things, int64 [count]."""
    # NumPy promises the same raw numbers of a bit generator for ever, but not the same shuffle.
    keys = np.random.Philox(seed).random_raw(count)
    return np.argsort(keys, kind="stable")


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Which of the official training examples are not trained on.

    It matters: the first 5,000 of MNIST are easier than a random 5,000, and so are the last.

    Attributes:
        order: random for a fixed random set of them; first or last for those that the official
            files begin or end with.
        examples: how many of the known data set. Of another number of official examples the same
            share is held out, rounded, and at least one.
    """

    order: Literal["random", "first", "last"] = "random"
    examples: int = 5_000


RANDOM_5_000 = HeldOut()
"""A fixed random set of 5,000."""


def split_order(
    source: str, official: int, held_out: HeldOut, known: int
) -> tuple[Numbers, Numbers]:
    """Split the official training examples: some are held out, the rest is in random order.

    Where the known data set has `known` examples, of which `held_out` says how many are held out,
    of `official` examples the same share is.

    Returns:
        The numbers of the examples held out, and those of all others, in a fixed order whose
        beginnings are the smaller training sets.

    Raises:
        UsageError: so many cannot be held out of the known data set.
        DbtoolError: there are fewer than two examples.
    """
    if not 1 <= held_out.examples < known:
        raise UsageError(
            f"{source} has from 1 to {known - 1:,} examples to hold out, not"
            f" {held_out.examples:,}; give held_out in that range"
        )
    if official < 2:
        raise DbtoolError(
            f"{source} needs at least two training examples, one of them for validation, and there"
            f" are {official}; give a folder with more"
        )
    count = min(max(1, round(official * held_out.examples / known)), official - 1)
    order = fixed_permutation(official)
    if held_out.order == "random":
        return order[:count], order[count:]
    start = 0 if held_out.order == "first" else official - count
    numbers = np.arange(start, start + count)
    return numbers, order[~np.isin(order, numbers)]


@dataclass(frozen=True, slots=True)
class Request:
    """A data set as a workload wants it.

    Attributes:
        source: the data set's name, such as `cifar_10`.
        form: what its examples shall look like.
        subset: a part of it that has a name, such as `half_classes`; None for the whole.
        train_examples: how many examples to train on; None for all that are not held out.
        folder: a folder to read instead of the known data set: in the same format, of any size and
            any content. None for the known data set, whose sizes and hashes are checked.
        datasets_dir: a folder that holds data sets; DBTOOL_DATASETS by default.
        vocabulary: a SentencePiece model to take as a text data set's subword vocabulary; None to
            have one trained, or found where it was trained before.
        held_out: the official training examples that are for validation, of mnist, fashion_mnist
            and cifar_10.
    """

    source: str
    form: Form
    subset: str | None = None
    train_examples: int | None = None
    folder: Path | None = None
    datasets_dir: Path | None = None
    vocabulary: Path | None = None
    held_out: HeldOut = RANDOM_5_000

    def count(self, available: int) -> int:
        """Return how many of the available examples are trained on: all, or as many as wanted."""
        count = available if self.train_examples is None else self.train_examples
        if not 1 <= count <= available:
            raise UsageError(
                f"{self.source} has from 1 to {available:,} examples to train on, not {count:,};"
                " give train_examples in that range"
            )
        return count

    def first(self, numbers: Numbers) -> Numbers:
        """Return the numbers of those that are trained on: all, or the first so many."""
        return numbers[: self.count(len(numbers))]

    def image_form(self, channels: int) -> ImageForm:
        """Return the form, of a data set of images with so many channels."""
        form = self.form
        if not isinstance(form, ImageForm) or form.channels != channels:
            raise UsageError(
                f"{self.source} has images of {channels} channels, which is not what was requested:"
                f" {form}"
            )
        return form

    def text_form(self) -> TextForm:
        """Return the form, of a data set of texts."""
        form = self.form
        if not isinstance(form, TextForm):
            raise UsageError(f"{self.source} has texts, which is not what was requested: {form}")
        return form


@dataclass(frozen=True, eq=False, slots=True)
class Split:
    """Examples of one purpose, in arrays.

    Attributes:
        inputs: images, uint8 [n, height, width] or [n, height, width, channels], 0 is black; or
            tokens, int32 [n, length], those before each target.
        targets: classes from zero, integers [n]; of several labels uint8 [n, classes], 1 present,
            0 absent; or tokens, int32 [n, length], zero where padded.
    """

    inputs: npt.NDArray[Any]
    targets: npt.NDArray[Any]

    def __len__(self) -> int:
        return len(self.inputs)

    def first(self, count: int) -> "Split":
        """Return the first examples."""
        return Split(self.inputs[:count], self.targets[:count])

    @property
    def sha256(self) -> str:
        """Return a sha256, in hexadecimal, of the arrays."""
        digest = hashlib.sha256()
        for array in map(np.ascontiguousarray, (self.inputs, self.targets)):
            digest.update(f"{array.dtype.str} {array.shape}\n".encode())
            digest.update(array.data)
        return digest.hexdigest()

    def read_only(self) -> Self:
        """Return the same examples, in arrays that nobody can change."""
        self.inputs.setflags(write=False)
        self.targets.setflags(write=False)
        return self


class ExampleSource(Protocol):
    """Examples that are read from files when they are needed, since memory would not hold them."""

    def __len__(self) -> int: ...

    def read(self, examples: Numbers, augmentation: np.random.Generator | None) -> Split:
        """Read some examples; may be called from several threads at once.

        Args:
            examples: their numbers, in the order wanted.
            augmentation: draws random crops and flips; None for none, as at evaluations.

        Raises:
            DbtoolError: a file is damaged or gone.
        """
        ...


Examples = Split | ExampleSource


@dataclass(frozen=True, eq=False, slots=True)
class Dataset:
    """A data set, split.

    Attributes:
        name: the data set's name.
        form: what its examples look like.
        train: the examples to train on.
        validation: those whose errors the goal is about.
        test: others that are not trained on.
        file_hashes: a hash of each file's content, in hexadecimal, by name; of large data sets, of
            the list of files alone. Of a user's own, of each split that is in memory, too.
    """

    name: str
    form: Form
    train: Examples
    validation: Examples
    test: Examples
    file_hashes: dict[str, str] = field(default_factory=dict)

    @property
    def sha256(self) -> str:
        """Return one sha256, in hexadecimal, of the hashes."""
        hashes = "".join(f"{name}={each}\n" for name, each in sorted(self.file_hashes.items()))
        return hashlib.sha256(hashes.encode()).hexdigest()


def in_memory(
    request: Request,
    form: ImageForm,
    official: Sequence[tuple[Path, Split]],
    test: tuple[Path, Split],
    known_examples: int,
    file_hashes: dict[str, str],
) -> Dataset:
    """Return a data set of images in memory, scaled bilinearly where they have another size.

    Of the official training examples, in their order, some are held out for validation. A
    replacement has the classes up to the highest label of its training examples.

    Args:
        request: for the data set.
        form: of the known data set's examples.
        official: the training examples, each file of labels with what it is of.
        test: likewise.
        known_examples: how many training examples the known data set has.
        file_hashes: of the result.

    Raises:
        DbtoolError: a label is of no class, or there are fewer than two training examples.
    """
    whole = Split(
        inputs=np.concatenate([split.inputs for _, split in official]),
        targets=np.concatenate([split.targets for _, split in official]),
    )
    if request.folder is not None:
        form = replace(form, classes=int(whole.targets.max(initial=0)) + 1)
    for path, split in (*official, test):
        if split.targets.max(initial=0) >= form.classes:
            raise DbtoolError(
                f"{path} holds the label {split.targets.max()}, outside 0 to {form.classes - 1};"
                " replace the file by one of the same data set"
            )
    held_out, train = split_order(request.source, len(whole), request.held_out, known_examples)
    return Dataset(
        name=request.source,
        form=form,
        train=_taken(whole, request.first(train), form),
        validation=_taken(whole, held_out, form),
        test=_taken(test[1], np.arange(len(test[1])), form),
        file_hashes=file_hashes,
    )


def _taken(split: Split, numbers: Numbers, form: ImageForm) -> Split:
    """Return some images and their targets, copied to read-only arrays."""
    images = split.inputs[numbers]
    size = (form.height, form.width)
    if images.shape[1:3] != size:
        from PIL import Image

        inputs = np.empty((len(images), *form.input_shape), np.uint8)
        for image, scaled in zip(images, inputs, strict=True):
            resized = Image.fromarray(image).resize(size[::-1], Image.Resampling.BILINEAR)
            scaled[...] = np.asarray(resized)
        images = inputs
    return Split(images, split.targets[numbers]).read_only()
