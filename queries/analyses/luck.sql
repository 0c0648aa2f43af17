-- How far can the steps to result of a study be trusted?
--
-- A row for each study, at the workload's own goal, from its first best_of trials, as many as every study of the workload has:
-- of more trials the best ones lie closer together.
--
-- - runner_up, fifth: how many times more steps the second and the fifth best trial took. Far above 1, the result depends on
--   one lucky trial. NULL where so many trials did not reach the goal.
-- - not_at: the last evaluation of the best trial before it reached the goal. The result lies between not_at and steps.
--
-- Studies of fewer than 5 trials are omitted, and so are searches in lockstep: they end, or drop, trials that might have
-- reached the goal later.
--
-- To change: 5 below.
WITH asked AS (
    SELECT release, workload, batch_size, metric, goal, goal_inclusive, NULL AS asked_trials
    FROM workloads
    JOIN studies USING (release, workload)
    WHERE json_number(search, 'most_steps') IS NULL
),
trial_rows AS (FROM trial_steps('asked')),
ranked AS MATERIALIZED (
    SELECT
        release,
        workload,
        batch_size,
        trial_id,
        metric,
        best_of,
        steps,
        row_number() OVER (PARTITION BY release, workload, batch_size ORDER BY steps NULLS LAST, trial_id) AS rank
    FROM equal_trials('trial_rows', 5)
),
best AS MATERIALIZED (
    SELECT release, workload, batch_size, trial_id AS best_trial, metric, steps
    FROM ranked
    WHERE rank = 1 AND steps IS NOT NULL
),
before AS (
    SELECT release, workload, batch_size, max(step) AS not_at
    FROM evaluations_of('best')
    WHERE trial_id = best_trial AND step < steps AND value IS NOT NULL
    GROUP BY ALL
)
SELECT
    release,
    workload,
    batch_size,
    best_of,
    min(steps) AS steps,
    any_value(not_at) AS not_at,
    round(min(steps) FILTER (rank = 2) / min(steps), 2) AS runner_up,
    round(min(steps) FILTER (rank = 5) / min(steps), 2) AS fifth,
    count(steps) AS reached_trials
FROM ranked
LEFT JOIN before USING (release, workload, batch_size)
GROUP BY release, workload, batch_size, best_of
ORDER BY release, workload, batch_size;
