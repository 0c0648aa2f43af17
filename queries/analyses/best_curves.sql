-- How do the best trials learn? The learning curve of the first trial of each study to reach the workload's own goal, of
-- its first 100 trials: a row an evaluation, of which at most 20 a study are shown, the last always.
--
-- examples is steps times batch size, epochs that by the size of the data set. A study that missed the goal has no rows.
--
-- Change 20 in settings, or 100 below.
WITH settings(points) AS (
    VALUES (20)
),
best AS (
    SELECT found.release, found.workload, batch_size, found.metric, steps, trial_id, train_examples, points
    FROM steps_to_result(NULL, NULL, NULL, NULL, 100) AS found
    CROSS JOIN settings
    JOIN workloads USING (release, workload)
    WHERE steps IS NOT NULL
),
taken AS MATERIALIZED (
    SELECT asked.study_id, best.trial_id, best.metric, NULL::DOUBLE AS goal
    FROM best
    JOIN asked_studies(NULL, NULL, NULL, NULL) AS asked USING (release, workload, batch_size)
),
evaluations AS (
    SELECT
        release,
        workload,
        batch_size,
        trial_id,
        step,
        value,
        row_number() OVER (PARTITION BY study_id ORDER BY step DESC) - 1 AS from_the_last,
        count(*) OVER (PARTITION BY study_id) AS evaluations
    FROM metric_values('taken')
    JOIN asked_studies(NULL, NULL, NULL, NULL) USING (study_id)
)
SELECT
    release,
    workload,
    batch_size,
    trial_id,
    step,
    step * batch_size AS examples,
    round(step * batch_size / train_examples, 3) AS epochs,
    metric,
    value,
    step = steps AS at_goal
FROM evaluations
JOIN best USING (release, workload, batch_size, trial_id)
WHERE from_the_last % ceil(evaluations / points)::BIGINT = 0 OR step = steps
ORDER BY release, workload, batch_size, step;
