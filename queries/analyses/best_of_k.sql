-- How many trials are enough?
--
-- The best of k trials: a row for each study and k, at the workload's own goal. Trials that diverged count, as trials that
-- never reach the goal.
--
-- - reached: the chance that the best of k reaches the goal.
-- - steps_10, steps_50, steps_90: the steps that the best of k takes at most, with a chance of 10, 50 and 90 %. NULL where the
--   goal is missed with that chance.
--
-- Compare steps to result at equal k alone: they are a minimum over a search, and fall with the number of trials. Where the
-- last rows of a study still fall, more trials would have found a better one.
--
-- The chances are exact, not simulated: k of n trials, drawn at random, all miss the best i with probability
-- C(n - i, k) / C(n, k). Where k comes near n, they describe the luck of the few best trials, not another search.
--
-- Searches in lockstep are omitted: they end, or drop, trials that might have reached the goal later.
--
-- To change: k in numbers. The rows of a study end at its number of trials.
WITH numbers(k) AS (
    VALUES (1), (2), (5), (10), (20), (50), (100)
),
ranked AS (
    SELECT
        release,
        workload,
        batch_size,
        steps,
        row_number() OVER (PARTITION BY release, workload, batch_size ORDER BY steps NULLS LAST) AS rank,
        count(*) OVER (PARTITION BY release, workload, batch_size) AS trials
    FROM settings_at_own_goals(false)
    WHERE trial_id IS NOT NULL
),
missed AS (
    SELECT
        *,
        -- The chance that all k miss the best so many, if they miss those before: the product of these is C(n - i, k) / C(n, k).
        CASE WHEN trials - rank >= k THEN ln((trials - k - rank + 1) / (trials - rank + 1)) END AS log_chance
    FROM ranked
    JOIN numbers ON k <= trials
),
chances AS (
    SELECT
        *,
        CASE
            WHEN log_chance IS NULL THEN 1
            ELSE 1 - exp(sum(log_chance) OVER (PARTITION BY release, workload, batch_size, k ORDER BY rank))
        END AS chance
    FROM missed
)
SELECT
    release,
    workload,
    batch_size,
    trials,
    k,
    -- A chance of a half is one although its logarithms may say a little less.
    round(coalesce(max(chance) FILTER (steps IS NOT NULL), 0) + 1e-9, 3) AS reached,
    min(steps) FILTER (chance > 0.1 - 1e-9) AS steps_10,
    min(steps) FILTER (chance > 0.5 - 1e-9) AS steps_50,
    min(steps) FILTER (chance > 0.9 - 1e-9) AS steps_90
FROM chances
GROUP BY release, workload, batch_size, trials, k
ORDER BY release, workload, batch_size, k;
