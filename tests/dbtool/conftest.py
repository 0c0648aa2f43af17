"""What tests of dbtool share: a database of a module's folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import dbtool


@pytest.fixture(scope="module")
def db(folder: Path) -> Iterator[dbtool.Database]:
    """The database of a module's fixture `folder`."""
    with dbtool.open(folder) as opened:
        yield opened
