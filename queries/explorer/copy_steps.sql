-- Steps to result of the best of equally many trials of each batch size, as `dbtool scaling --rows steps` tells them: the median
-- of the best of k trials that are drawn from those of a search, and between which steps that lies with a chance of 95 %. Trials
-- that diverged count as ones that never reach the goal. k is the number of trials, or as many as every search of the
-- workload has that has five or more.
WITH asked AS (
    SELECT * EXCLUDE (train_steps, stopped), NULL::INTEGER AS asked_trials
    FROM study_goals(NULL, NULL, NULL, $metric, $goal)
    WHERE list_contains($keys, release || ':' || workload)
),
crossed AS (FROM trial_crossings('asked')),
bounded AS (
    SELECT
        *,
        coalesce(median_steps::DOUBLE, 'infinity') AS upper,
        CASE status
            WHEN 'INFEASIBLE' THEN 'infinity'::DOUBLE
            -- A search in lockstep drops such trials as come after its first.
            WHEN 'INCOMPLETE' THEN greatest(after, coalesce(arg_min(after, (steps, trial_id)) FILTER (steps IS NOT NULL) OVER study, max(after) OVER study))
            ELSE after
        END::DOUBLE AS lower
    FROM setting_steps('crossed')
    WHERE stands
    WINDOW study AS (PARTITION BY release, workload, batch_size)
),
searches AS (
    SELECT
        release,
        workload,
        metric,
        goal,
        batch_size,
        count(*) AS n,
        list_sort(list(lower)) AS lower,
        list_sort(list(upper)) AS upper,
        any_value(search->>'origin') IS NOT NULL AS windowed
    FROM bounded
    GROUP BY ALL
),
compared AS (
    SELECT *, bool_or(windowed) OVER workload_of AS has_windows
    FROM (
        SELECT *, coalesce($trials::BIGINT, min(n) FILTER (n >= 5) OVER workload_of, max(n) OVER workload_of) AS k
        FROM searches
        WINDOW workload_of AS (PARTITION BY release, workload)
    )
    WHERE n >= k
    WINDOW workload_of AS (PARTITION BY release, workload)
),
ranked AS (
    SELECT
        *,
        ranks_around_median(n, k, 0.95) AS around,
        -- Of n trials k drawn at random all miss the best r with a chance of C(n - r, k) / C(n, k).
        list_filter(range(1, n - k + 2), lambda r: r = n - k + 1 OR 1 - exp(
            lgamma(n - r + 1) - lgamma(n - r - k + 1) - lgamma(n + 1) + lgamma(n - k + 1)
        ) > 0.5 - 1e-9)[1] AS middle
    FROM compared
)
SELECT
    release,
    workload,
    metric,
    goal,
    batch_size,
    k AS trials,
    -- What was searched in the whole space comes less far than what was searched in windows: a bound from above alone.
    if(has_windows AND NOT windowed, 0, lower[middle]) AS after,
    nullif(upper[middle], 'infinity') AS steps,
    nullif(lower[around.low], 0) AS low,
    nullif(upper[around.high], 'infinity') AS high
FROM ranked
WHERE isfinite(lower[middle])
ORDER BY list_position($keys, release || ':' || workload), batch_size;
