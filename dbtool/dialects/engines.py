"""The engines for which queries are translated."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp
from sqlglot.dialects.clickhouse import ClickHouse
from sqlglot.dialects.dialect import Dialect, rename_func
from sqlglot.dialects.postgres import Postgres
from sqlglot.dialects.spark import Spark
from sqlglot.generators.postgres import PostgresGenerator


class _Arrow(Postgres):
    """The SQL of Polars and DataFusion, which sqlglot lacks: what they have of PostgreSQL's."""

    class Generator(PostgresGenerator):
        TRANSFORMS = {  # noqa: RUF012 (sqlglot's form)
            **PostgresGenerator.TRANSFORMS,
            exp.IsNan: rename_func("ISNAN"),
            exp.Split: rename_func("STRING_TO_ARRAY"),
        }


@dataclass(frozen=True)
class Engine:
    """The SQL of an engine.

    Attributes:
        generator: sqlglot's dialect.
        files: files of schema/dialects, each after those that it overrides.
        settings: settings that a query needs.
    """

    generator: type[Dialect]
    files: tuple[str, ...]
    settings: tuple[str, ...] = ()


DIALECTS = {
    "spark": Engine(Spark, ("common", "spark")),
    "polars": Engine(_Arrow, ("common", "json_as_text", "polars")),
    "datafusion": Engine(_Arrow, ("common", "json_as_text", "datafusion")),
    # Without this setting, an outer join fills rows without a partner with zeros.
    "clickhouse": Engine(ClickHouse, ("common", "clickhouse"), ("join_use_nulls = 1",)),
}
"""Name of the dialect to engine; chDB has the dialect of ClickHouse."""
