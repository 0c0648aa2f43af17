SELECT * EXCLUDE (told_alone)
FROM stored.trials
WHERE is_asked(workload, release, batch_size, $workloads, $release, $batch_sizes)
ORDER BY release, workload, batch_size, trial_id;
