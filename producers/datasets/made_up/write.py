"""Made-up data for each data set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbtool.errors import unknown
from producers.datasets.made_up.images import (
    write_cifar_10,
    write_idx,
    write_imagenet,
    write_open_images,
)
from producers.datasets.made_up.texts import write_brown, write_common_crawl, write_lm1b

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_WRITERS: dict[str, Callable[[Path], None]] = {
    "mnist": write_idx,
    "fashion_mnist": write_idx,
    "cifar_10": write_cifar_10,
    "imagenet": write_imagenet,
    "open_images_v4": write_open_images,
    "lm1b": write_lm1b,
    "common_crawl": write_common_crawl,
    "brown": write_brown,
}


def write_made_up(source: str, folder: Path) -> None:
    """Writes a few made-up examples in the format of a data set.

    The same files are written every time.

    Args:
        source: the data set's name.
        folder: where to; it is made where it is not there.

    Raises:
        UsageError: there is no such data set.
    """
    if source not in _WRITERS:
        raise unknown("data set", source, _WRITERS, "dbtool workloads --catalog")
    folder.mkdir(parents=True, exist_ok=True)
    _WRITERS[source](folder)
