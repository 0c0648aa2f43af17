-- Steps to result of each study of the named workloads, in their order.
WITH asked AS (
    SELECT * EXCLUDE (examples, search_space, search), $trials AS asked_trials
    FROM study_goals($workloads, $release, $batch_sizes, $metric, $goal)
    WHERE list_contains($keys, release || ':' || workload)
),
trial_rows AS (
    FROM trial_steps('asked')
)
SELECT
    release,
    workload,
    batch_size,
    steps,
    examples_after(steps, batch_size, definition) AS examples,
    trial_id,
    value,
    learning_rate,
    momentum,
    trials,
    goal,
    metric,
    CASE WHEN stopped THEN train_steps END AS stopped_at
FROM study_steps('trial_rows')
JOIN (SELECT release, workload, definition FROM workloads) USING (release, workload)
ORDER BY list_position($workloads, workload), release, batch_size;
