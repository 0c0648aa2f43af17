SELECT
    * EXCLUDE (definition),
    list_concat(
        json_extract_string(definition, '$.caveats[*]'),
        if(
            batch_changes(definition) IS NULL,
            [],
            ['Batches grow within its trials: batch sizes are those at the start, and steps differ in their examples.']
        )
    ) AS caveats -- what to know of its measurements
FROM workloads
WHERE list_contains($workloads, workload) AND ($release IS NULL OR release = $release)
ORDER BY release, workload;
