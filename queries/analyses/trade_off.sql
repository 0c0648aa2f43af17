-- What does a faster result cost?
--
-- Steps against examples to the goal: a row a study that reached the workload's own goal, from its first 100 trials.
--
-- Steps are the time to the result where a larger batch takes no longer, examples the computation. steps_over_fewest and
-- examples_over_fewest are how many times more a study takes than the best study of its workload in each; epochs is
-- examples by the size of the data set. best_trade is whether no other study takes fewer of one and no more of the other.
--
-- Change 100 below.
WITH results AS (
    SELECT found.release, found.workload, batch_size, steps, steps * batch_size AS examples, train_examples
    FROM steps_to_result(NULL, NULL, NULL, NULL, 100) AS found
    JOIN workloads USING (release, workload)
    WHERE steps IS NOT NULL
)
SELECT
    release,
    workload,
    batch_size,
    steps,
    examples,
    round(examples / train_examples, 2) AS epochs,
    round(steps / min(steps) OVER of_workload, 2) AS steps_over_fewest,
    round(examples / min(examples) OVER of_workload, 2) AS examples_over_fewest,
    NOT EXISTS (
        SELECT 1
        FROM results AS other
        WHERE other.release = results.release
        AND other.workload = results.workload
        AND other.steps <= results.steps
        AND other.examples <= results.examples
        AND (other.steps < results.steps OR other.examples < results.examples)
    ) AS best_trade
FROM results
WINDOW of_workload AS (PARTITION BY release, workload)
ORDER BY release, workload, batch_size;
