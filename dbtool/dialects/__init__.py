"""Queries in the SQL of other engines: Spark, Polars, DataFusion and ClickHouse."""
