-- The two moments of the gradient noise scale of the named workloads, a row a measurement of them, with the steps in which
-- its trial passed the goal (NULL where it never did).
WITH asked AS (
    SELECT
        release,
        workload,
        batch_size,
        coalesce($metric, metric) AS metric,
        coalesce($goal, goal)::DOUBLE AS goal,
        goal_inclusive,
        NULL::INTEGER AS asked_trials
    FROM workloads
    JOIN studies USING (release, workload)
    WHERE list_contains($workloads, workload)
        AND ($release IS NULL OR release = $release)
        AND ($batch_sizes IS NULL OR list_contains($batch_sizes, batch_size))
),
crossed AS (
    SELECT release, workload, batch_size, metric, goal, trial_id, steps
    FROM trial_steps('asked')
),
moments AS (
    SELECT
        release,
        workload,
        batch_size,
        trial_id,
        step,
        other_metrics['gradient_squared_norm'] AS squared_norm,
        other_metrics['gradient_covariance_trace'] AS covariance_trace
    FROM measurements
    WHERE list_contains($workloads, workload) AND other_metrics IS NOT NULL
)
SELECT release, workload, batch_size, metric, goal, trial_id, steps, step, squared_norm, covariance_trace
FROM moments
JOIN crossed USING (release, workload, batch_size, trial_id)
WHERE isfinite(squared_norm) AND isfinite(covariance_trace)
ORDER BY list_position($workloads, workload), release, batch_size, trial_id, step;
