-- Steps to result of each study of the named workloads, in their order.
WITH asked AS (
    SELECT
        release,
        workload,
        batch_size,
        coalesce($metric, metric) AS metric,
        coalesce($goal, goal)::DOUBLE AS goal,
        goal_inclusive,
        $trials AS asked_trials,
        CASE WHEN stopped THEN train_steps END AS stopped_at
    FROM workloads
    JOIN studies USING (release, workload)
    WHERE list_contains($workloads, workload)
        AND ($release IS NULL OR release = $release)
        AND ($batch_sizes IS NULL OR list_contains($batch_sizes, batch_size))
),
trial_rows AS (
    FROM trial_steps('asked')
)
SELECT
    release,
    workload,
    batch_size,
    steps,
    trial_id,
    value,
    learning_rate,
    momentum,
    trials,
    goal,
    metric,
    stopped_at
FROM study_steps('trial_rows')
ORDER BY list_position($workloads, workload), release, batch_size;
