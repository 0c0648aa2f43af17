-- How do steps to result change with the batch size?
--
-- A row a study, at the workload's own goal, from its first 100 trials.
--
-- reduction is how many times fewer steps the study needs than the one at the workload's smallest batch size;
-- efficiency is that, divided by what perfect scaling would give: 1 where doubling the batch size halves the steps, above
-- 1 where the study at the smallest batch size needed more than its share. gain is how many times fewer steps a doubling
-- of the batch size brings, since the next smaller batch size: 2 is perfect scaling, 1 none. A study that missed the
-- goal has neither, and is passed over by the next.
WITH results AS (
    SELECT release, workload, batch_size, goal, steps, trials
    FROM steps_to_result(NULL, NULL, NULL, NULL, 100)
),
compared AS (
    SELECT
        release,
        workload,
        batch_size,
        first_value(steps) OVER by_size / steps AS reduction,
        batch_size / first_value(batch_size) OVER by_size AS growth,
        lag(steps) OVER by_size / steps AS fewer,
        log2(batch_size / lag(batch_size) OVER by_size) AS doublings
    FROM results
    WHERE steps IS NOT NULL
    WINDOW by_size AS (PARTITION BY release, workload ORDER BY batch_size)
)
SELECT
    release,
    workload,
    batch_size,
    goal,
    steps,
    steps * batch_size AS examples,
    round(reduction, 2) AS reduction,
    round(reduction / growth, 2) AS efficiency,
    round(fewer ** (1 / doublings), 2) AS gain,
    trials AS feasible_trials
FROM results
LEFT JOIN compared USING (release, workload, batch_size)
ORDER BY release, workload, batch_size;
