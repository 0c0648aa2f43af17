-- The settings of a workload, given as JSON: they are known without a database, and so is no table of one read here.
SELECT unnest(
    from_json($rows, '[{"setting": "VARCHAR", "value": "VARCHAR", "certainty": "VARCHAR"}]'), recursive := true
);
