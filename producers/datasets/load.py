"""Loading any data set by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbtool.errors import unknown
from producers.datasets.permutation import RANDOM_5_000
from producers.datasets.request import Request

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from producers.datasets.forms import Form
    from producers.datasets.permutation import HeldOut
    from producers.datasets.split import Dataset


def load_dataset(
    source: str,
    *,
    form: Form,
    subset: str | None = None,
    train_examples: int | None = None,
    folder: Path | None = None,
    datasets_dir: Path | None = None,
    vocabulary: Path | None = None,
    held_out: HeldOut = RANDOM_5_000,
) -> Dataset:
    """Loads a data set, or finds its files where memory would not hold it.

    Args:
        source: the data set's name, one of LOADERS.
        form: what its examples shall look like; images are scaled to its height and width. The form
            of the result has the number of classes that were found.
        subset: `half_classes` or `half_images` of imagenet; None for the whole.
        train_examples: how many examples to train on; None for all that are not held out.
        folder: a folder to read instead of the known data set: in the same format, of any size and
            any content. None for the known data set, whose sizes and hashes are checked.
        datasets_dir: a folder that holds data sets; DBTOOL_DATASETS by default.
        vocabulary: a SentencePiece model to take as a text data set's subword vocabulary; None to
            have one trained, or found where it was trained before.
        held_out: which official training examples are for validation, of mnist, fashion_mnist and
            cifar_10.

    Raises:
        UsageError: no data set has that name, the subset or number of examples does not exist, or a
            folder given does not.
        DbtoolError: the files cannot be had, or their contents are wrong.
    """
    try:
        load = LOADERS[source]
    except KeyError:
        raise unknown("data set", source, LOADERS, "dbtool workloads --catalog") from None
    return load(
        Request(
            source=source,
            form=form,
            subset=subset,
            train_examples=train_examples,
            folder=folder,
            datasets_dir=datasets_dir,
            vocabulary=vocabulary,
            held_out=held_out,
        )
    )


def _mnist(request: Request) -> Dataset:
    from producers.datasets.mnist.images import load_idx

    return load_idx(request)


def _cifar_10(request: Request) -> Dataset:
    from producers.datasets.cifar.images import load_cifar_10

    return load_cifar_10(request)


def _imagenet(request: Request) -> Dataset:
    from producers.datasets.imagenet.images import load_imagenet

    return load_imagenet(request)


def _open_images(request: Request) -> Dataset:
    from producers.datasets.open_images.images import load_open_images

    return load_open_images(request)


def _lm1b(request: Request) -> Dataset:
    from producers.datasets.text.lm1b import load_lm1b

    return load_lm1b(request)


def _common_crawl(request: Request) -> Dataset:
    from producers.datasets.text.common_crawl import load_common_crawl

    return load_common_crawl(request)


def _brown(request: Request) -> Dataset:
    from producers.datasets.text.brown import load_brown

    return load_brown(request)


LOADERS: dict[str, Callable[[Request], Dataset]] = {
    "mnist": _mnist,
    "fashion_mnist": _mnist,
    "cifar_10": _cifar_10,
    "imagenet": _imagenet,
    "open_images_v4": _open_images,
    "lm1b": _lm1b,
    "common_crawl": _common_crawl,
    "brown": _brown,
}
"""The loader of each data set; it imports what it needs when it is called."""
