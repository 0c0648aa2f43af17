-- How many trials are enough?
--
-- A row a study and number of trials, at the workload's own goal.
--
-- Had only so many of the study's COMPLETE trials been run, drawn at random: reached is the chance that any of them
-- reaches the goal, and steps what the best of them takes in the median, NULL where that is not to reach it. The numbers
-- are exact, not simulated: of n trials, the k drawn all miss the best i with probability C(n - i, k) / C(n, k).
-- Where the last rows of a study still fall, more trials would have found a better one.
--
-- Change the numbers of trials in numbers; a study's rows end at how many trials it has.
WITH numbers(drawn) AS (
    VALUES (1), (2), (5), (10), (20), (50), (100)
),
asked AS (
    SELECT release, workload, batch_size, metric, goal, goal_inclusive, NULL AS asked_trials
    FROM workloads
    JOIN studies USING (release, workload)
),
ranked AS (
    SELECT
        release,
        workload,
        batch_size,
        steps,
        row_number() OVER (PARTITION BY release, workload, batch_size ORDER BY steps NULLS LAST, trial_id) AS rank,
        count(*) OVER (PARTITION BY release, workload, batch_size) AS trials
    FROM trial_steps('asked')
    WHERE ordinal IS NOT NULL
),
chances AS (
    SELECT
        *,
        -- That at least one of the best so many is among those drawn.
        if(
            trials - rank < drawn,
            1,
            1 - exp(
                lgamma(trials - rank + 1) - lgamma(trials - rank - drawn + 1)
                - lgamma(trials + 1) + lgamma(trials - drawn + 1)
            )
        ) AS chance
    FROM ranked
    JOIN numbers ON drawn <= trials
)
SELECT
    release,
    workload,
    batch_size,
    trials AS feasible_trials,
    drawn,
    round(coalesce(max(chance) FILTER (steps IS NOT NULL), 0), 3) AS reached,
    -- A chance of a half is one although its logarithms may say a little less.
    min(steps) FILTER (chance > 0.5 - 1e-9) AS steps
FROM chances
GROUP BY release, workload, batch_size, trials, drawn
ORDER BY release, workload, batch_size, drawn;
