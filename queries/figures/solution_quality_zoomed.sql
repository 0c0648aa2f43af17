/*
Figure 11 close up: how small are the differences between batch sizes at the largest budgets?
Four workloads, a row of two panels each, one curve a budget; y is the best value of the metric within the budget. A study
counts where its train_steps reach the budget; an epoch is train_examples / batch size steps. The vertical axis of a row
ends at zoom times its best value (y_to), and begins as far below that value on the other side (y_from).
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
budgets(budgets, unit, numbers) AS (
    VALUES
        ('images', 'steps', [5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6]),
        ('images', 'epochs', [10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000]),
        ('text', 'steps', [1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6]),
        ('text', 'epochs', [0.2, 0.5, 1, 2, 5, 10, 20])
),
curves AS (
    SELECT
        2 * row_order - if(unit = 'steps', 1, 0) AS panel_order,
        concat(name, ', budgets of ', unit) AS panel,
        generate_subscripts(numbers, 1) AS series_order,
        unnest(numbers) AS budget,
        CASE
            WHEN unit = 'epochs' THEN format('{:,g} {}', budget, if(budget = 1, 'epoch', 'epochs'))
            WHEN budget >= 1e6 THEN format('{:g}M steps', budget / 1e6)
            ELSE format('{:g}k steps', budget / 1e3)
        END AS series,
        workload,
        metric,
        if(unit = 'steps', budget::BIGINT, NULL) AS most_steps,
        if(unit = 'epochs', budget * train_examples, NULL) AS most_examples
    FROM rows_of_panels
    JOIN budgets USING (budgets)
),
asked AS (FROM drawn('curves', $release::VARCHAR, NULL, $trials::BIGINT)),
study_rows AS (FROM study_best('asked')),
points AS (
    SELECT *, (panel_order + 1) // 2 AS row_order
    FROM best_points('study_rows')
),
budget_rows AS (FROM asked WHERE coalesce($bands::BOOLEAN, false)),
trial_rows AS (FROM trial_best('budget_rows')),
bounded AS (FROM banded('points', 'trial_rows', NULL, true))
SELECT
    bounded.* EXCLUDE (row_order),
    min(y) OVER row_of_panels * (2 - zoom) AS y_from,
    min(y) OVER row_of_panels * zoom AS y_to
FROM bounded
JOIN rows_of_panels USING (row_order)
WINDOW row_of_panels AS (PARTITION BY row_order)
ORDER BY panel_order, series_order, release_order, x;
