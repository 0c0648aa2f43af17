"""What many modules of tests begin with: a database of the folder that they write."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import dbtool


@pytest.fixture(scope="module")
def db(folder: Path) -> Iterator[dbtool.Database]:
    """The database of a module's fixture `folder`."""
    with dbtool.open(folder) as opened:
        yield opened
