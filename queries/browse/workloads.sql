SELECT
    * EXCLUDE (definition),
    json_extract_string(definition, '$.caveats[*]') AS caveats -- what to know of its measurements
FROM workloads
WHERE list_contains($workloads, workload) AND ($release IS NULL OR release = $release)
ORDER BY release, workload;
