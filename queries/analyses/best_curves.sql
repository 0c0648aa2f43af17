-- How do the best trials learn?
--
-- The learning curve of the trial of each study that reached the workload's own goal first, among its first 100 trials. A row
-- is an evaluation; at most 20 a study are shown, always with the last one.
--
-- - examples: steps times batch size, or more where the batch grows within a trial.
-- - epochs: examples divided by the size of the data set.
--
-- A study that missed the goal has no rows.
--
-- To change: 20 in settings, and 100 below.
WITH settings(points) AS (
    VALUES (20)
),
best AS MATERIALIZED (
    SELECT release, workload, batch_size, metric, steps, trial_id AS best_trial, learning_rate, momentum
    FROM steps_to_result(NULL, NULL, NULL, NULL, 100)
    WHERE steps IS NOT NULL
)
SELECT
    release,
    workload,
    batch_size,
    trial_id,
    learning_rate,
    momentum,
    step,
    batch_size * grown_steps(step, changes) AS examples,
    round(examples / train_examples, 3) AS epochs,
    metric,
    value,
    step = steps AS at_goal
FROM evaluations_of('best')
JOIN (SELECT release, workload, train_examples, batch_changes(definition) AS changes FROM workloads) USING (release, workload)
CROSS JOIN settings
WHERE trial_id = best_trial AND value IS NOT NULL
WINDOW whole AS (PARTITION BY release, workload, batch_size)
QUALIFY step = steps
    OR (row_number() OVER (PARTITION BY release, workload, batch_size ORDER BY step DESC) - 1)
        % ceil(count(*) OVER whole / points)::BIGINT = 0
ORDER BY release, workload, batch_size, step;
