-- The trials of a study: the steps that each took past the goal, NULL where it did not, and its metaparameters.
WITH asked AS (
    SELECT * EXCLUDE (train_steps, stopped), NULL::INTEGER AS asked_trials
    FROM study_goals([$workload], $release, [$batch_size], $metric, $goal)
),
crossed AS (
    SELECT trial_id, steps FROM trial_steps('asked')
)
SELECT trial_id, status, crossed.steps AS steps, trials.steps AS trained_steps, settings
FROM trials
LEFT JOIN crossed USING (trial_id)
WHERE release = $release AND workload = $workload AND batch_size = $batch_size
ORDER BY trial_id;
