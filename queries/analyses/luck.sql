-- How far can the steps to result of a study be trusted? A row a study, at the workload's own goal, from its first 100
-- trials.
--
-- runner_up and fifth are how many times more steps the second and the fifth best trial took: far above 1, the result
-- hangs on one lucky trial. not_at is the last step before the result at which the best trial was evaluated and had not
-- reached the goal: the result lies after it, and no evaluation says where.
--
-- Change 100 below.
WITH asked AS (
    SELECT study_id, release, workload, batch_size, metric, strict_goal AS goal
    FROM asked_studies(NULL, NULL, NULL, NULL)
),
taken AS MATERIALIZED (
    SELECT study_id, trial_id, metric, goal
    FROM first_trials(100)
    JOIN asked USING (study_id)
),
reached AS (
    SELECT
        study_id,
        trial_id,
        step,
        row_number() OVER (PARTITION BY study_id ORDER BY step, trial_id) AS place
    FROM first_past_goal('taken')
),
best_trials AS MATERIALIZED (
    SELECT taken.*
    FROM taken
    JOIN reached USING (study_id, trial_id)
    WHERE place = 1
),
evaluations AS (
    SELECT study_id, max(evaluated.step) AS not_at
    FROM metric_values('best_trials') AS evaluated
    JOIN reached USING (study_id, trial_id)
    WHERE evaluated.step < reached.step
    GROUP BY study_id
),
places AS (
    SELECT
        study_id,
        count(*) AS reached_trials,
        min(step) AS steps,
        min(step) FILTER (place = 2) AS second,
        min(step) FILTER (place = 5) AS fifth
    FROM reached
    GROUP BY study_id
),
counts AS (
    SELECT study_id, count(*) AS feasible_trials FROM taken GROUP BY study_id
)
SELECT
    release,
    workload,
    batch_size,
    steps,
    not_at,
    round(second / steps, 2) AS runner_up,
    round(places.fifth / steps, 2) AS fifth,
    coalesce(reached_trials, 0) AS reached_trials,
    feasible_trials
FROM asked
JOIN counts USING (study_id)
LEFT JOIN places USING (study_id)
LEFT JOIN evaluations USING (study_id)
ORDER BY release, workload, batch_size;
