SELECT DISTINCT batch_size
FROM stored.study
JOIN stored.workload USING (workload_id)
JOIN stored.release USING (release_id)
WHERE list_contains($workloads, workload) AND ($release IS NULL OR release = $release)
ORDER BY batch_size;
