/*
Which metaparameters reach the goal within a budget? A point is a COMPLETE or diverged trial, x its learning rate, y its 1 -
momentum, the series what became of it within the budget; best marks the trial of the panel that reached the goal first. A
panel without a batch size has the one nearest to 256 that most of the figure's workloads share. The parameter trials takes
the first so many of all trials of each study.
*/
WITH listed AS (FROM curves_of($figure)),
panels AS (
    SELECT listed.* REPLACE (
        coalesce(batch_size, nearest) AS batch_size,
        concat(panel, if(batch_size IS NULL, format(', batch size {:,}', nearest), '')) AS panel
    )
    FROM listed
    CROSS JOIN (SELECT near_batch_size(256, $release::VARCHAR, (SELECT list(workload) FROM listed)) AS nearest)
),
asked AS (FROM drawn('panels', $release::VARCHAR, $goal::DOUBLE, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
outcome_rows AS (FROM outcomes('trial_rows'))
SELECT scattered.*, x_from, x_to, y_from, y_to
FROM scattered('outcome_rows') AS scattered
JOIN (SELECT panel_order, x_from, x_to, y_from, y_to FROM panels) USING (panel_order)
ORDER BY panel_order, series_order, release_order, x, trial_id;
