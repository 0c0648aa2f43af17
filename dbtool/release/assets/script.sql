-- The views and macros of dbtool for DuckDB: run `duckdb -init $script` in this folder.
CREATE SCHEMA stored;
CREATE TABLE stored.releases AS
SELECT
    0 AS position,
    $release AS release,
    $title AS title,
    $licence AS licence,
    $citation AS citation;
$index
-- The union is for DuckDB, which takes NaN for the greatest value of a single file that can have it.
CREATE VIEW stored.measurements AS
WITH shards AS NOT MATERIALIZED (
    SELECT $release AS release, *
    FROM read_parquet(
        '$shards',
        hive_partitioning = true,
        hive_types = {'workload': VARCHAR, 'batch_size': INTEGER},
        can_have_nan = true
    )
)
FROM shards UNION ALL FROM shards WHERE false;
