-- The curves of a study: a metric at each evaluation of each trial.
SELECT trial_id, step, value
FROM evaluations
WHERE release = $release AND workload = $workload AND batch_size = $batch_size AND metric = $metric
ORDER BY trial_id, step;
