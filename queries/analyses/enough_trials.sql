-- How many trials come near the best of all?
--
-- The best of k trials, drawn at random from those of a study, at the workload's own goal: how large k has to be until it
-- takes at most 10 % more steps than the best of all. A row for each study of 5 or more trials that reached the goal.
--
-- - steps: those of the best of all trials. near: the number of trials within 10 % of it.
-- - k_50, k_90: the least k that comes so near with a chance of 50 and of 90 %.
-- - is_bound: whether a search in lockstep ended before all trials could come so near: near is then at least, and k_50 and
--   k_90 are at most, what is told here.
--
-- Where k_90 is close to the number of trials, more trials would have found a better one. Trials that diverged, and those that
-- a search in lockstep dropped, count as ones that do not come near. Of replicates a setting counts as one trial.
--
-- To change: 1.1 in settings, and 5 below.
WITH settings(within) AS (
    VALUES (1.1)
),
ranked AS (
    SELECT
        release,
        workload,
        batch_size,
        CASE WHEN stopped THEN train_steps END AS stopped_at,
        steps,
        min(steps) OVER (PARTITION BY release, workload, batch_size) AS fewest,
        row_number() OVER (PARTITION BY release, workload, batch_size ORDER BY steps NULLS LAST, trial_id) AS k,
        count(*) OVER (PARTITION BY release, workload, batch_size) AS trials
    FROM settings_at_own_goals(true)
    WHERE trial_id IS NOT NULL
),
counted AS (
    SELECT
        *,
        coalesce(stopped_at < within * fewest, false) AS is_bound,
        count(CASE WHEN steps <= within * fewest THEN 1 END) OVER (PARTITION BY release, workload, batch_size) AS near
    FROM ranked
    CROSS JOIN settings
    WHERE trials >= 5 AND fewest IS NOT NULL
),
missed AS (
    SELECT
        *,
        -- The chance that the k-th misses those, too: the product of these up to k is C(trials - near, k) / C(trials, k).
        CASE WHEN trials - near >= k THEN ln((trials - near - k + 1) / (trials - k + 1)) END AS log_chance
    FROM counted
),
chances AS (
    SELECT
        *,
        CASE
            WHEN log_chance IS NULL THEN 1
            ELSE 1 - exp(sum(log_chance) OVER (PARTITION BY release, workload, batch_size ORDER BY k))
        END AS chance
    FROM missed
)
SELECT
    release,
    workload,
    batch_size,
    trials,
    fewest AS steps,
    near,
    min(k) FILTER (chance > 0.5 - 1e-9) AS k_50,
    min(k) FILTER (chance > 0.9 - 1e-9) AS k_90,
    is_bound
FROM chances
GROUP BY release, workload, batch_size, trials, fewest, near, is_bound
ORDER BY release, workload, batch_size;
