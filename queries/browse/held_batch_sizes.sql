SELECT DISTINCT batch_size
FROM studies
WHERE list_contains($workloads, workload) AND ($release IS NULL OR release = $release)
ORDER BY batch_size;
