-- How far can the steps to result of a study be trusted?
--
-- A row a study, at the workload's own goal, from its first 100 trials.
--
-- runner_up and fifth are how many times more steps the second and the fifth best trial took: far above 1, the result
-- hangs on one lucky trial. not_at is the last step before the result at which the best trial was evaluated and had not
-- reached the goal: the result lies after it, and no evaluation says where.
--
-- Change 100 below.
WITH asked AS (
    SELECT release, workload, batch_size, metric, goal, goal_inclusive, NULL AS asked_trials
    FROM workloads
    JOIN studies USING (release, workload)
),
reached AS MATERIALIZED (
    SELECT
        release,
        workload,
        batch_size,
        trial_id,
        metric,
        steps,
        count(ordinal) OVER study AS feasible_trials,
        row_number() OVER (study ORDER BY steps NULLS LAST, trial_id) AS rank
    FROM trial_steps('asked')
    WHERE ordinal <= 100
    WINDOW study AS (PARTITION BY release, workload, batch_size)
),
best AS MATERIALIZED (
    SELECT release, workload, batch_size, trial_id AS best_trial, metric, steps
    FROM reached
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
    min(steps) AS steps,
    any_value(not_at) AS not_at,
    round(min(steps) FILTER (rank = 2) / min(steps), 2) AS runner_up,
    round(min(steps) FILTER (rank = 5) / min(steps), 2) AS fifth,
    count(steps) AS reached_trials,
    any_value(feasible_trials) AS feasible_trials
FROM reached
LEFT JOIN before USING (release, workload, batch_size)
GROUP BY release, workload, batch_size
ORDER BY release, workload, batch_size;
