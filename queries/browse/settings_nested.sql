-- The settings of a workload as in settings.sql, with values of any type for formats that hold them.
SELECT unnest(
    from_json($rows, '[{"setting": "VARCHAR", "value": "JSON", "certainty": "VARCHAR"}]'), recursive := true
);
