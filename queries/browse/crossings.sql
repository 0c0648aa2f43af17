-- When each trial of the named workloads passed the goal, a row a trial: after steps is the last evaluation that missed, and
-- steps the first that did not (NULL where none did). Those of a trial that never passed it lie after all its evaluations.
WITH asked AS (
    SELECT * EXCLUDE (train_steps, stopped), NULL::INTEGER AS asked_trials
    FROM study_goals($workloads, $release, $batch_sizes, $metric, $goal)
),
crossed AS MATERIALIZED (
    FROM trial_steps('asked')
),
missed AS (
    SELECT release, workload, batch_size, trial_id, max(step) AS after
    FROM evaluations_of('asked')
    JOIN (SELECT release, workload, batch_size, trial_id, steps FROM crossed) USING (release, workload, batch_size, trial_id)
    WHERE value IS NOT NULL AND (steps IS NULL OR step < steps)
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
    coalesce(after, 0) AS after,
    steps,
    learning_rate,
    momentum,
    search_space,
    search
FROM crossed
LEFT JOIN missed USING (release, workload, batch_size, trial_id)
ORDER BY list_position($workloads, workload), release, batch_size, trial_id;
