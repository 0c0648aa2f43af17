SELECT * EXCLUDE (search_space), search_space
FROM studies
WHERE list_contains($workloads, workload) AND ($release IS NULL OR release = $release)
ORDER BY release, workload, batch_size;
