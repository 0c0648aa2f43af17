-- Of each trial of a workload the evaluations of a metric that better all before them in the trial, each with the step of the
-- evaluation just before (0 if none), and last a row without step whose after is the trial's last evaluation. They are all
-- that tells, for any goal, the first step past it and the last evaluation before that. Trials that diverged pass no goal.
WITH asked AS (
    SELECT release, workload, batch_size, $metric AS metric
    FROM studies
    WHERE release = $release AND workload = $workload
),
evaluated AS (
    SELECT
        batch_size,
        trial_id,
        step,
        value,
        -- What is past no goal betters nothing; see reached.
        CASE WHEN status <> 'INFEASIBLE' AND isfinite(value) THEN cost(value, is_maximized($metric)) END AS cost
    FROM evaluations_of('asked')
    WHERE value IS NOT NULL
),
compared AS (
    SELECT
        *,
        coalesce(lag(step) OVER before, 0) AS after,
        min(cost) OVER (before ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS least
    FROM evaluated
    WINDOW before AS (PARTITION BY batch_size, trial_id ORDER BY step)
)
SELECT batch_size::INTEGER AS batch_size, trial_id::INTEGER AS trial_id, after::INTEGER AS after, step::INTEGER AS step, value
FROM (
    SELECT batch_size, trial_id, after, step, value
    FROM compared
    WHERE coalesce(cost < least, cost IS NOT NULL)
    UNION ALL
    SELECT batch_size, trial_id, max(step), NULL, NULL
    FROM evaluated
    GROUP BY ALL
)
ORDER BY batch_size, trial_id, step NULLS LAST;
