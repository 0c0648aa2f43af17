-- When each trial of the named workloads passed the goal, a row a trial; see trial_crossings.
WITH asked AS (
    SELECT * EXCLUDE (train_steps), NULL::INTEGER AS asked_trials
    FROM study_goals($workloads, $release, $batch_sizes, $metric, $goal)
    WHERE list_contains($keys, release || ':' || workload)
)
SELECT
    release,
    workload,
    batch_size,
    metric,
    goal,
    trial_id,
    status,
    after,
    steps,
    learning_rate,
    momentum,
    setting,
    search_space,
    search,
    stopped
FROM trial_crossings('asked')
ORDER BY list_position($workloads, workload), release, batch_size, trial_id;
