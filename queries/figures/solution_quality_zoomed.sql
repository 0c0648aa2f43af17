/*
Figure 11 close up: how small are the differences between batch sizes at the largest budgets?
Four workloads, a row of two panels each, one curve a budget; y is the best value of the metric within the budget. A study
counts where its train_steps reach the budget; an epoch is train_examples / batch size steps. The vertical axis of a row
ends at zoom times its best value (y_high), and begins as far below that value on the other side (y_low).
Change a budget or a number of trials below; the parameter trials replaces the latter, release names the release, or
several joined by commas.
*/
WITH rows_of_panels(row_order, name, workload, metric, train_examples, budgets, zoom) AS (
    VALUES
        (1, 'Simple CNN on MNIST', 'solution_quality/mnist/simple_cnn_base/nesterov_momentum', 'val_classification_error', 55000, 'images', 1.5),
        (2, 'Simple CNN on Fashion MNIST', 'solution_quality/fashion_mnist/simple_cnn_base/nesterov_momentum', 'val_classification_error', 55000, 'images', 1.2),
        (3, 'Narrow and shallow Transformer on LM1B', 'lm1b/transformer_narrow_and_shallow/nesterov_momentum', 'val_cross_entropy_error', 30301028, 'text', 1.05),
        (4, 'Transformer on LM1B', 'lm1b/transformer_base/nesterov_momentum', 'val_cross_entropy_error', 30301028, 'text', 1.05)
),
budgets(budgets, unit, series_order, budget) AS (
    VALUES
        ('images', 'steps', 1, 5000),
        ('images', 'steps', 2, 10000),
        ('images', 'steps', 3, 20000),
        ('images', 'steps', 4, 50000),
        ('images', 'steps', 5, 100000),
        ('images', 'steps', 6, 200000),
        ('images', 'steps', 7, 500000),
        ('images', 'steps', 8, 1000000),
        ('images', 'steps', 9, 2000000),
        ('images', 'steps', 10, 5000000),
        ('images', 'epochs', 1, 10),
        ('images', 'epochs', 2, 20),
        ('images', 'epochs', 3, 50),
        ('images', 'epochs', 4, 100),
        ('images', 'epochs', 5, 200),
        ('images', 'epochs', 6, 500),
        ('images', 'epochs', 7, 1000),
        ('images', 'epochs', 8, 2000),
        ('images', 'epochs', 9, 5000),
        ('images', 'epochs', 10, 10000),
        ('text', 'steps', 1, 10000),
        ('text', 'steps', 2, 20000),
        ('text', 'steps', 3, 50000),
        ('text', 'steps', 4, 100000),
        ('text', 'steps', 5, 200000),
        ('text', 'steps', 6, 500000),
        ('text', 'steps', 7, 1000000),
        ('text', 'epochs', 1, 0.2),
        ('text', 'epochs', 2, 0.5),
        ('text', 'epochs', 3, 1),
        ('text', 'epochs', 4, 2),
        ('text', 'epochs', 5, 5),
        ('text', 'epochs', 6, 10),
        ('text', 'epochs', 7, 20)
),
curves AS (
    SELECT
        2 * row_order - if(unit = 'steps', 1, 0) AS panel_order,
        concat(name, ', budgets of ', unit) AS panel,
        series_order,
        CASE
            WHEN unit = 'epochs' THEN format('{:,g} {}', budget::DOUBLE, if(budget = 1, 'epoch', 'epochs'))
            WHEN budget >= 1_000_000 THEN format('{:g}M steps', budget / 1_000_000)
            ELSE format('{:g}k steps', budget / 1_000)
        END AS series,
        workload,
        metric,
        if(unit = 'steps', budget::BIGINT, NULL) AS most_steps,
        if(unit = 'epochs', (budget * train_examples)::DOUBLE, NULL) AS most_examples,
        100 AS trials
    FROM rows_of_panels
    JOIN budgets USING (budgets)
),
points AS (
    SELECT *, (panel_order + 1) // 2 AS row_order
    FROM best_points('curves', $release::VARCHAR, $trials::BIGINT)
)
SELECT
    points.* EXCLUDE (row_order),
    concat('Best validation ', if(points.metric = 'val_classification_error', 'error', 'cross entropy')) AS y_label,
    min(y) OVER row_of_panels * (2 - zoom) AS y_low,
    min(y) OVER row_of_panels * zoom AS y_high
FROM points
JOIN rows_of_panels USING (row_order)
WINDOW row_of_panels AS (PARTITION BY row_order)
ORDER BY panel_order, series_order, release_order, x;
