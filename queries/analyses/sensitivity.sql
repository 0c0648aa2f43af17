-- How much does the learning rate matter?
--
-- A row for each study, at the workload's own goal, from its first trials, as many as every study of the workload has: among
-- more trials there are more extreme ones.
--
-- - reached_share: the share of trials that reach the goal within the budget.
-- - lowest, highest: the smallest and the largest learning rate of these trials.
-- - decades: the distance between the two on a logarithmic scale.
-- - inside_share: the share of trials between the two that reach the goal. Far below 1, other metaparameters or chance matter
--   too.
--
-- All of this depends on the search space of a study. Studies of fewer than 5 trials are omitted, and so are searches in
-- lockstep: they end, or drop, trials that might have reached the goal later.
--
-- To change: 5 below.
WITH setting_rows AS (FROM settings_at_own_goals(false)),
ended AS (
    SELECT release, workload, batch_size, best_of AS trials, steps IS NOT NULL AS reached, learning_rate
    FROM equal_trials('setting_rows', 5)
),
ranges AS (
    SELECT
        *,
        min(learning_rate) FILTER (reached) OVER study AS lowest,
        max(learning_rate) FILTER (reached) OVER study AS highest
    FROM ended
    WINDOW study AS (PARTITION BY release, workload, batch_size)
)
SELECT
    release,
    workload,
    batch_size,
    trials,
    round(count(*) FILTER (reached) / trials, 3) AS reached_share,
    any_value(lowest) AS lowest,
    any_value(highest) AS highest,
    round(log10(any_value(highest / lowest)), 2) AS decades,
    round(avg(reached::INTEGER) FILTER (learning_rate > lowest AND learning_rate < highest), 3) AS inside_share
FROM ranges
GROUP BY release, workload, batch_size, trials
ORDER BY release, workload, batch_size;
