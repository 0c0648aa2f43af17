SELECT * EXCLUDE (definition)
FROM workloads
WHERE $release IS NULL OR release = $release
ORDER BY release, workload;
