/*
The Lipschitz constant of the gradient along training (y, against the step x), as the producer measured it during the trial
that stands for the study: of the first COMPLETE ones that which reached the goal first or, where none did, which had the best
validation error. A panel a network, a curve a sparsity (the share of weights pruned before training). The batch size is the
one nearest to 256 that most of the network's sparsities share. A curve is thinned to some 500 points; step 0, for which a
logarithmic axis has no room, is left out.
*/
WITH listed AS (FROM curves_of($figure)),
curves AS (
    SELECT listed.* REPLACE (near_batch_size(256, $release::VARCHAR, network_workloads) AS batch_size)
    FROM listed
    JOIN (SELECT panel_order, list(workload) AS network_workloads FROM listed GROUP BY panel_order) USING (panel_order)
),
asked AS (FROM drawn('curves', $release::VARCHAR, $goal::DOUBLE, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
study_rows AS (FROM study_steps('trial_rows')),
best_rows AS (FROM study_best('asked')),
followed AS MATERIALIZED (
    SELECT * REPLACE ('gradient_lipschitz_constant' AS metric), metric AS goal_metric, NULL::BIGINT AS kept
    FROM standing('study_rows', 'best_rows')
),
measured AS (FROM thinned('followed', 500))
SELECT
    concat(panel, format(', batch size {:,}', batch_size)) AS panel,
    series,
    step AS x,
    measured.value AS y,
    panel_order,
    series_order,
    release,
    release_order,
    workload,
    batch_size,
    metric,
    goal_metric,
    goal,
    goal_inclusive,
    CASE WHEN is_held THEN trials END AS trials,
    asked_trials,
    trial_id,
    steps
FROM followed
LEFT JOIN measured USING (release, workload, batch_size, trial_id, metric)
ORDER BY panel_order, series_order, release_order, x;
