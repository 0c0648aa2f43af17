/*
How do training, validation and test error of the best trial at each batch size develop?
Six panels: the error on each split, against steps and against epochs; a curve is the trial that stands for a study of the
simple CNN on MNIST: of the first COMPLETE ones that which reached the goal first or, where none did, which had the best
validation error. A point is a measurement; read_off marks the one that steps to result reads. A curve is thinned to some
500 points, that one always kept; step 0, for which a logarithmic axis has no place, is left out. The paper's choice of
workload could not be checked.
Change the workload, the goal or the number of trials below; the parameters goal and trials replace theirs, release names
the release, or several joined by commas.
*/
WITH setting AS (
    SELECT
        'mnist/simple_cnn_base/nesterov_momentum' AS workload,
        'val_classification_error' AS metric,
        0.01 AS goal,
        100 AS trials
),
curves AS (
    SELECT
        1 AS panel_order,
        NULL::VARCHAR AS panel,
        1 AS series_order,
        workload AS series,
        NULL::INTEGER AS batch_size,
        *
    FROM setting
)
SELECT *
FROM learning_curve_points('curves', $release::VARCHAR, $goal::DOUBLE, $trials::BIGINT);
