-- Up to which batch size does a larger one pay?
--
-- A row a workload, at its own goal, from its studies' first 100 trials.
--
-- Three plain readings, none with uncertainty. perfect_to is the largest batch size up to which, from the smallest on,
-- every study needs at most 1.25 times the examples of the smallest one. useful_to is the batch size at which the fewest
-- steps are first reached to within a tenth: beyond it a larger batch saves nothing. critical is the ratio of the fewest
-- examples to the fewest steps that any study needs: where examples would be as dear as steps, were the trade-off
-- (steps / fewest - 1) * (examples / fewest - 1) = 1. A study that missed the goal plays no part, nor does a workload
-- with one batch size.
--
-- Change 1.25 or 1.1 in settings, or 100 below.
WITH settings(perfect, useful) AS (
    VALUES (1.25, 1.1)
),
results AS (
    SELECT release, workload, batch_size, goal, steps, steps * batch_size AS examples, perfect, useful
    FROM steps_to_result(NULL, NULL, NULL, NULL, 100)
    CROSS JOIN settings
    WHERE steps IS NOT NULL
),
compared AS (
    SELECT
        *,
        bool_and(examples <= perfect * first_examples) OVER by_size AS perfect_so_far
    FROM (
        SELECT *, first_value(examples) OVER by_size AS first_examples
        FROM results
        WINDOW by_size AS (PARTITION BY release, workload ORDER BY batch_size)
    )
    WINDOW by_size AS (PARTITION BY release, workload ORDER BY batch_size)
),
fewest AS (
    SELECT release, workload, min(steps) AS fewest_steps, min(examples) AS fewest_examples
    FROM results
    GROUP BY release, workload
)
SELECT
    release,
    workload,
    any_value(goal) AS goal,
    count(*) AS batch_sizes,
    min(batch_size) AS smallest,
    max(batch_size) AS largest,
    max(batch_size) FILTER (perfect_so_far) AS perfect_to,
    min(batch_size) FILTER (steps <= useful * fewest_steps) AS useful_to,
    any_value(fewest_steps) AS fewest_steps,
    any_value(fewest_examples) AS fewest_examples,
    round(any_value(fewest_examples / fewest_steps), 1) AS critical
FROM compared
JOIN fewest USING (release, workload)
GROUP BY release, workload
HAVING count(*) > 1
ORDER BY release, workload;
