SELECT column_name
FROM duckdb_columns()
WHERE schema_name = 'main' AND table_name = 'measurements' AND data_type IN ('DOUBLE', 'FLOAT')
    -- It is no metric, but when they were measured.
    AND column_name <> 'seconds'
UNION
SELECT metric
FROM workloads
ORDER BY column_name;
