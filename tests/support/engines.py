"""Engines that run translated queries, set up as docs/engines.md shows."""

import contextlib
import io
import os
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dbtool.dialects.expansion import namespace
from tests.support.documents import blocks
from tests.support.spark import needs_spark

Rows = tuple[list[str], list[tuple[Any, ...]]]
"""The names of columns, and the rows."""
Run = Callable[[str], Rows]
REQUIRED = "DBTOOL_REQUIRE_ENGINES"
"""The environment variable that makes a test of an engine that is missing fail."""


def _needs(package: str) -> list[pytest.MarkDecorator]:
    absent = pytest.mark.skipif(
        not os.environ.get(REQUIRED) and find_spec(package) is None,
        reason=f"no {package}: run `pip install {package}`",
    )
    return [absent, pytest.mark.slow]


# Polars is quick; Spark takes seconds to start and for each query, however few the rows are.
ENGINES = [
    pytest.param("polars"),
    pytest.param("spark", marks=[needs_spark, pytest.mark.slow]),
    pytest.param("datafusion", marks=_needs("datafusion")),
    pytest.param("clickhouse", marks=_needs("chdb")),
]


@contextlib.contextmanager
def engine(dialect: str, release: str, folder: Path) -> Iterator[Run]:
    """An engine over a release, set up by what docs/engines.md shows but its last line.

    That of Spark needs `open_spark` around it.
    """
    title = {"clickhouse": "ClickHouse", "datafusion": "DataFusion"}.get(dialect, dialect.title())
    [code] = [each for each in blocks("engines.md", "python") if each.heading == title]
    setup = "\n".join(code.text.rstrip().splitlines()[:-1])
    setup = setup.replace("replication", namespace(release)).replace("FOLDER", str(folder))
    names: dict[str, Any] = {}
    try:
        exec(setup, names)  # noqa: S102 (the code of our documentation)
        yield lambda query: _RUN[dialect](names, query)
    finally:
        if dialect == "clickhouse":
            names["session"].close()


def _of_frame(frame: pl.DataFrame) -> Rows:
    return frame.columns, frame.rows()


def _by_spark(names: dict[str, Any], query: str) -> Rows:
    frame = names["spark"].sql(query)
    return frame.columns, [tuple(row) for row in frame.collect()]


_RUN: dict[str, Callable[[dict[str, Any], str], Rows]] = {
    "spark": _by_spark,
    "polars": lambda names, query: _of_frame(names["context"].execute(query).collect()),
    "datafusion": lambda names, query: _of_frame(
        pl.DataFrame(names["context"].sql(query).to_arrow_table())
    ),
    "clickhouse": lambda names, query: _of_frame(
        pl.read_parquet(io.BytesIO(names["session"].query(query, "Parquet").bytes()))
    ),
}
