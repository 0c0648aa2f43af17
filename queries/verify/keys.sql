-- Tables and columns whose values DuckDB finds through an index of that column alone.
SELECT table_name, constraint_column_names[1]
FROM duckdb_constraints()
WHERE schema_name = 'stored'
    AND constraint_type IN ('PRIMARY KEY', 'UNIQUE')
    AND len(constraint_column_names) = 1
ORDER BY ALL;
