/*
Steps to result against sparsity, one curve a batch size; x is the sparsity (the share of weights pruned before training) in
percent, y the fewest steps to reach the goal. A curve without data has one row without x. Change the batch sizes below.
*/
WITH batch_sizes(batch_order, batch_size) AS (
    VALUES (1, 16), (2, 64), (3, 256), (4, 1024), (5, 4096)
),
curves AS (
    SELECT listed.* EXCLUDE (batch_size), batch_order, batch_sizes.batch_size
    FROM curves_of($figure) AS listed
    CROSS JOIN batch_sizes
),
asked AS (FROM drawn('curves', $release::VARCHAR, $goal::DOUBLE, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
study_rows AS (FROM study_steps('trial_rows')),
points AS (
    SELECT
        *,
        steps_unknown(stopped, steps) AS is_unknown,
        CASE WHEN is_held AND (NOT is_unknown OR count(steps) OVER curve > 0) THEN 100 * sparsity::DOUBLE END AS x
    FROM study_rows
    WINDOW curve AS (PARTITION BY panel_order, batch_order, release_order)
)
SELECT
    panel,
    format('batch size {:,}', batch_size) AS series,
    x,
    steps AS y,
    panel_order,
    batch_order AS series_order,
    release,
    release_order,
    workload,
    batch_size,
    metric,
    goal,
    goal_inclusive,
    trials,
    asked_trials,
    steps,
    trial_id,
    learning_rate,
    momentum,
    best_of,
    band_low,
    band_high,
    is_unknown
FROM banded('points', 'trial_rows', NULL, coalesce($bands::BOOLEAN, false))
WINDOW curve AS (PARTITION BY panel_order, batch_order, release_order)
QUALIFY x IS NOT NULL OR count(x) OVER curve = 0 AND row_number() OVER (curve ORDER BY sparsity) = 1
ORDER BY panel_order, series_order, release_order, x;
