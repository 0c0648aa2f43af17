-- The trials of a study with their metaparameters.
SELECT trial_id, status, steps, learning_rate, momentum, settings
FROM trials
WHERE release = $release AND workload = $workload AND batch_size = $batch_size
ORDER BY trial_id;
