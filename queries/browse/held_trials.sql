SELECT DISTINCT trial_id
FROM trials
WHERE is_asked(workload, release, batch_size, $workloads, $release, $batch_sizes);
