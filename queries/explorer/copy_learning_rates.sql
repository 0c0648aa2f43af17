-- The best learning rates of each batch size, as `dbtool scaling --rows learning_rates` tells them: those of the trials that came
-- as far as the fastest in up to a quarter more steps. low or high is NULL where it lies in the outer tenth of what was
-- searched, so that good ones may lie beyond. Searches of fewer trials than all are compared at are left out.
WITH asked AS (
    SELECT * EXCLUDE (train_steps), NULL::INTEGER AS asked_trials
    FROM study_goals(NULL, NULL, NULL, $metric, $goal)
    WHERE list_contains($keys, release || ':' || workload)
),
trial_rows AS (FROM trial_crossings('asked'))
SELECT release, workload, metric, goal, found.*
FROM (SELECT *, unnest(scaling_learning_rates(trials, coalesce($trials::BIGINT, 0))) AS found FROM listed_trials('trial_rows'))
ORDER BY list_position($keys, release || ':' || workload), found.batch_size;
