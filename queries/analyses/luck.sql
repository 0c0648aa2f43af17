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
trial_rows AS (FROM trial_crossings('asked')),
setting_rows AS (FROM steps_of_settings('trial_rows')),
ranked AS (
    SELECT
        release,
        workload,
        batch_size,
        best_of,
        after,
        steps,
        row_number() OVER (PARTITION BY release, workload, batch_size ORDER BY steps NULLS LAST, trial_id) AS rank
    FROM equal_trials('setting_rows', 5)
)
SELECT
    release,
    workload,
    batch_size,
    best_of,
    min(steps) AS steps,
    min(after) FILTER (rank = 1 AND steps IS NOT NULL) AS not_at,
    round(min(steps) FILTER (rank = 2) / min(steps), 2) AS runner_up,
    round(min(steps) FILTER (rank = 5) / min(steps), 2) AS fifth,
    count(steps) AS reached_trials
FROM ranked
GROUP BY release, workload, batch_size, best_of
ORDER BY release, workload, batch_size;
