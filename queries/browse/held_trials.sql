SELECT DISTINCT trial_id
FROM trials
WHERE ($workloads IS NULL OR list_contains($workloads, workload))
    AND ($release IS NULL OR release = $release)
    AND ($batch_sizes IS NULL OR list_contains($batch_sizes, batch_size));
