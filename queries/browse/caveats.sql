-- What to know of each workload whose definition says it.
SELECT release, workload, json_extract_string(definition, '$.caveats[*]') AS caveats
FROM workloads
WHERE len(json_extract_string(definition, '$.caveats[*]')) > 0;
