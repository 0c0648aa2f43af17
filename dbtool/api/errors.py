"""DuckDB's errors as ours."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import duckdb

from dbtool.api.readers import CLOSED
from dbtool.errors import DbtoolError, first_sentence

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def plain_errors() -> Iterator[None]:
    """Turns what DuckDB raises in the block into one sentence.

    Raises:
        DbtoolError: a query failed, or the database was closed.
    """
    try:
        yield
    except duckdb.ConnectionException as error:
        raise DbtoolError(CLOSED) from error
    except duckdb.Error as error:
        raise DbtoolError(first_sentence(error)) from error
