"""The engines whose SQL queries are translated to."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp
from sqlglot.dialects.clickhouse import ClickHouse
from sqlglot.dialects.dialect import Dialect, rename_func
from sqlglot.dialects.postgres import Postgres
from sqlglot.dialects.spark import Spark
from sqlglot.generators.postgres import PostgresGenerator


class _Arrow(Postgres):
    """What Polars and DataFusion, which sqlglot has not, have of PostgreSQL's SQL."""

    class Generator(PostgresGenerator):
        TRANSFORMS = {  # noqa: RUF012 (sqlglot's form)
            **PostgresGenerator.TRANSFORMS,
            exp.IsNan: rename_func("ISNAN"),
            exp.Split: rename_func("STRING_TO_ARRAY"),
        }


@dataclass(frozen=True)
class Engine:
    """How queries are written for an engine.

    Attributes:
        generator: sqlglot's dialect.
        files: those of schema/dialects, each after those that it takes precedence of.
        settings: what a query has to set.
    """

    generator: type[Dialect]
    files: tuple[str, ...]
    settings: tuple[str, ...] = ()


DIALECTS = {
    "spark": Engine(Spark, ("common", "spark")),
    "polars": Engine(_Arrow, ("common", "json_as_text", "polars")),
    "datafusion": Engine(_Arrow, ("common", "json_as_text", "datafusion")),
    # Rows without a partner in an outer join have zeros there, unless that is set.
    "clickhouse": Engine(ClickHouse, ("common", "clickhouse"), ("join_use_nulls = 1",)),
}
"""By the names of the dialects; chDB has that of ClickHouse."""
