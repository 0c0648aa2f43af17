-- What did each workload come to?
--
-- A row a workload of each release, at its own goal, from the first 100 trials of its studies.
--
-- Steps at the smallest and largest batch size are NULL where no trial of those reached the goal. How far larger batches
-- help, and how sure that is, `dbtool scaling` tells.
WITH results AS (
    SELECT release, workload, batch_size, goal, steps
    FROM steps_to_result(NULL, NULL, NULL, NULL, 100)
),
held AS (
    SELECT
        release,
        workload,
        sum(measurements) AS measurements,
        min(complete) AS fewest_feasible,
        max(complete) AS most_feasible,
        round(sum(infeasible) / sum(complete + infeasible), 3) AS infeasible_share
    FROM studies
    GROUP BY release, workload
)
SELECT
    release,
    workload,
    min(steps) AS fewest_steps,
    any_value(goal) AS goal,
    arg_min(batch_size, (steps, batch_size)) FILTER (steps IS NOT NULL) AS fewest_steps_at,
    count(*) AS batch_sizes,
    min(batch_size) AS smallest,
    max(batch_size) AS largest,
    any_value(fewest_feasible) AS fewest_feasible,
    any_value(most_feasible) AS most_feasible,
    any_value(infeasible_share) AS infeasible_share,
    any_value(measurements) AS measurements,
    arg_min({'steps': steps}, batch_size).steps AS steps_at_smallest,
    arg_max({'steps': steps}, batch_size).steps AS steps_at_largest
FROM results
JOIN held USING (release, workload)
GROUP BY release, workload
ORDER BY release, workload;
