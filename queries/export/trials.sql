SELECT * EXCLUDE (told_alone)
FROM stored.trials
WHERE list_contains($workloads, workload)
    AND ($release IS NULL OR release = $release)
    AND ($batch_sizes IS NULL OR list_contains($batch_sizes, batch_size))
ORDER BY release, workload, batch_size, trial_id;
