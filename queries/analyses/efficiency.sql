-- What does a faster result cost?
--
-- A row for each study, at the workload's own goal. Steps fall with the number of trials: here they are those of the best of
-- the first best_of trials, as many as every study of the workload has.
--
-- - steps: the time to the result, where a larger batch takes no longer.
-- - examples: steps times batch size, or more where the batch grows within a trial: the computation. epochs: examples divided by
--   the size of the data set.
-- - reduction: how many times fewer steps than at the workload's smallest batch size.
-- - efficiency: reduction divided by that of perfect scaling. It is 1 where twice the batch size takes half the steps.
-- - gain: how many times fewer steps a doubling of the batch size takes, from the next smaller batch size. 2 is perfect
--   scaling, 1 is none.
-- - best_trade: whether no other study has fewer steps or fewer examples without more of the other.
--
-- A study that missed the goal has none of these, and one of fewer than 5 trials has no row. `dbtool scaling` gives the
-- critical batch sizes with intervals.
--
-- To change: 5 below.
WITH setting_rows AS (FROM settings_at_own_goals(true)),
equal AS (FROM equal_trials('setting_rows', 5)),
results AS (
    SELECT
        release,
        workload,
        batch_size,
        goal,
        best_of,
        steps,
        examples_after(steps, batch_size, definition) AS examples
    FROM study_steps('equal')
    JOIN (SELECT release, workload, definition FROM workloads) USING (release, workload)
),
beaten AS (
    SELECT results.release, results.workload, results.batch_size, count(*) AS better
    FROM results
    JOIN results AS other
        ON other.release = results.release
        AND other.workload = results.workload
        AND other.steps <= results.steps
        AND other.examples <= results.examples
    WHERE other.steps < results.steps OR other.examples < results.examples
    GROUP BY ALL
),
compared AS (
    SELECT
        release,
        workload,
        batch_size,
        first_value(steps) OVER by_size / steps AS reduction,
        batch_size / first_value(batch_size) OVER by_size AS growth,
        lag(steps) OVER by_size / steps AS fewer,
        log2(batch_size / lag(batch_size) OVER by_size) AS doublings,
        better IS NULL AS best_trade
    FROM results
    LEFT JOIN beaten USING (release, workload, batch_size)
    WHERE steps IS NOT NULL
    WINDOW by_size AS (PARTITION BY release, workload ORDER BY batch_size)
)
SELECT
    release,
    workload,
    batch_size,
    goal,
    best_of,
    steps,
    examples,
    round(examples / train_examples, 2) AS epochs,
    round(reduction, 2) AS reduction,
    round(reduction / growth, 2) AS efficiency,
    round(fewer ** (1 / doublings), 2) AS gain,
    best_trade
FROM results
JOIN (SELECT release, workload, train_examples FROM workloads) USING (release, workload)
LEFT JOIN compared USING (release, workload, batch_size)
ORDER BY release, workload, batch_size;
