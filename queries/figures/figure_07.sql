/*
Figure 7: does label smoothing help more at larger batch sizes?
ResNet-50 on ImageNet, one curve a label smoothing, of the first trials of each study; y is the best validation error in
the first panel, the fewest steps to get strictly past the goal in the second.
Change the goal or the number of trials below; the parameters goal and trials replace them, release names the release,
or several joined by commas.
*/
WITH smoothings(series_order, series, label_smoothing) AS (
    VALUES
        (1, 'label smoothing 0', 0),
        (2, 'label smoothing 0.01', 0.01),
        (3, 'label smoothing 0.1', 0.1)
),
curves AS (
    SELECT
        *,
        1 AS panel_order,
        'Best validation error' AS panel,
        'imagenet/resnet_50/nesterov_momentum' AS workload,
        'val_classification_error' AS metric,
        100 AS trials
    FROM smoothings
),
curves_to_goal AS (
    SELECT * REPLACE (2 AS panel_order, 'Steps to result' AS panel), 0.25 AS goal
    FROM curves
)
SELECT *, 'Best validation error' AS y_label
FROM best_points('curves', $release::VARCHAR, $trials::BIGINT)
UNION ALL BY NAME
SELECT *, 'Steps to result' AS y_label
FROM steps_points('curves_to_goal', $release::VARCHAR, $goal::DOUBLE, $trials::BIGINT)
ORDER BY panel_order, series_order, release_order, x;
