/*
The best value of a metric within a budget, close up: the vertical axis of a row of two panels ends at zoom times its best
value (y_to), and begins as far below that value on the other side (y_from). Change how close below.
*/
WITH zooms(workload, zoom) AS (
    VALUES
        ('solution_quality/mnist/simple_cnn_base/nesterov_momentum', 1.5),
        ('solution_quality/fashion_mnist/simple_cnn_base/nesterov_momentum', 1.2),
        ('lm1b/transformer_narrow_and_shallow/nesterov_momentum', 1.05),
        ('lm1b/transformer_base/nesterov_momentum', 1.05)
),
curves AS (
    SELECT panel_order, panel, series_order, budget, series, workload, metric, most_steps, most_examples
    FROM curves_of($figure)
),
asked AS (FROM drawn('curves', $release::VARCHAR, NULL, $trials::BIGINT)),
study_rows AS (FROM study_best('asked')),
points AS (FROM best_points('study_rows')),
budget_rows AS (FROM asked WHERE coalesce($bands::BOOLEAN, false)),
trial_rows AS (FROM trial_best('budget_rows')),
bounded AS (FROM banded('points', 'trial_rows', NULL, true))
SELECT
    bounded.*,
    min(y) OVER row_of_panels * (2 - zoom) AS y_from,
    min(y) OVER row_of_panels * zoom AS y_to
FROM bounded
JOIN zooms USING (workload)
WINDOW row_of_panels AS (PARTITION BY workload)
ORDER BY panel_order, series_order, release_order, x;
