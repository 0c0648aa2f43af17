-- When each trial of the named workloads passed the goal, a row a trial: after steps is the last evaluation that missed, and
-- steps the first that did not (NULL where none did). Those of a trial that never passed it lie after all its evaluations.
WITH asked AS (
    SELECT * EXCLUDE (train_steps, stopped), NULL::INTEGER AS asked_trials
    FROM study_goals($workloads, $release, $batch_sizes, $metric, $goal)
),
crossed AS MATERIALIZED (
    FROM trial_steps('asked')
),
evaluated AS (
    SELECT release, workload, batch_size, trial_id, list(step) AS evaluations
    FROM evaluations_of('asked')
    WHERE value IS NOT NULL
    GROUP BY ALL
)
SELECT
    release,
    workload,
    batch_size,
    metric,
    goal,
    trial_id,
    status,
    coalesce(list_max(if(steps IS NULL, evaluations, list_filter(evaluations, lambda step: step < steps))), 0) AS after,
    steps,
    learning_rate,
    momentum,
    search_space,
    search
FROM crossed
LEFT JOIN evaluated USING (release, workload, batch_size, trial_id)
WHERE trial_id IS NOT NULL
ORDER BY list_position($workloads, workload), release, batch_size, trial_id;
