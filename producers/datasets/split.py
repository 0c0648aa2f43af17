"""Examples for training and evaluation, in memory or read when they are needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from producers.datasets.forms import Form


@dataclass(frozen=True, eq=False, slots=True)
class Split:
    """Examples of one purpose, in read-only arrays.

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

    def first(self, count: int) -> Split:
        """The first examples."""
        return Split(self.inputs[:count], self.targets[:count])


class ExampleSource(Protocol):
    """Examples that are read from files when they are needed, since memory would not hold them."""

    def __len__(self) -> int: ...

    def read(
        self, examples: npt.NDArray[np.int64], augmentation: np.random.Generator | None
    ) -> Split:
        """Reads some examples; may be called from several threads at once.

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
            the list of files alone.
    """

    name: str
    form: Form
    train: Examples
    validation: Examples
    test: Examples
    file_hashes: dict[str, str]
