-- How do workloads compare?
--
-- A row for each workload of each release, at its own goal, from the first 100 trials of its studies.
--
-- Steps at the smallest and the largest batch size are NULL where no trial reached the goal. `dbtool scaling` tells how far
-- larger batches help, with intervals.
WITH results AS (
    SELECT
        release,
        workload,
        batch_size,
        goal,
        steps,
        min(steps) OVER (PARTITION BY release, workload) AS fewest,
        min(batch_size) OVER (PARTITION BY release, workload) AS smallest,
        max(batch_size) OVER (PARTITION BY release, workload) AS largest
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
    fewest AS fewest_steps,
    min(goal) AS goal,
    min(batch_size) FILTER (steps = fewest) AS fewest_steps_at,
    count(*) AS batch_sizes,
    smallest,
    largest,
    fewest_feasible,
    most_feasible,
    infeasible_share,
    measurements,
    min(steps) FILTER (batch_size = smallest) AS steps_at_smallest,
    min(steps) FILTER (batch_size = largest) AS steps_at_largest
FROM results
JOIN held USING (release, workload)
GROUP BY ALL
ORDER BY release, workload;
