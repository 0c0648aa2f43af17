-- Steps to result of the best of equally many trials of each batch size, as `dbtool scaling --rows steps` tells them: the median
-- of the best of k trials that are drawn from those of a search, and between which steps that lies with a chance of 95 %. Trials
-- that diverged count as ones that never reach the goal. k is the number of trials, or the fewest of any search of the
-- workload with 5 or more, if half of the searches have so many, else with 2 or more.
WITH asked AS (
    SELECT * EXCLUDE (train_steps), NULL::INTEGER AS asked_trials
    FROM study_goals(NULL, NULL, NULL, $metric, $goal)
    WHERE list_contains($keys, release || ':' || workload)
),
trial_rows AS (FROM trial_crossings('asked'))
SELECT release, workload, metric, goal, found.*
FROM (SELECT *, unnest(scaling_steps(trials, coalesce($trials::BIGINT, 0))) AS found FROM listed_trials('trial_rows'))
ORDER BY list_position($keys, release || ':' || workload), found.batch_size;
