"""Values of a test of which a few are quick enough for `make test`."""

from collections.abc import Container, Iterable
from typing import Any

import pytest


def quick_few(values: Iterable[Any], quick: Container[Any]) -> list[Any]:
    """All of them, to parametrize with; those that are not quick are marked as slow."""
    return [
        value
        if value in quick
        else pytest.param(*(value if isinstance(value, tuple) else [value]), marks=pytest.mark.slow)
        for value in values
    ]
