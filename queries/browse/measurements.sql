SELECT *
FROM measurements
WHERE is_asked(workload, release, batch_size, $workloads, $release, $batch_sizes)
    AND ($trials IS NULL OR list_contains($trials, trial_id))
