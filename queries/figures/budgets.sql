/*
The best value of a metric within a budget of steps or of epochs, against batch size, one curve a budget. A study counts where
its train_steps reach the budget; an epoch is train_examples / batch size steps.
*/
WITH curves AS (
    SELECT panel_order, panel, series_order, budget, series, workload, metric, most_steps, most_examples
    FROM curves_of($figure)
),
asked AS (FROM drawn('curves', $release::VARCHAR, NULL, $trials::BIGINT)),
study_rows AS (FROM study_best('asked')),
points AS (FROM best_points('study_rows')),
budget_rows AS (FROM asked WHERE coalesce($bands::BOOLEAN, false)),
trial_rows AS (FROM trial_best('budget_rows'))
FROM banded('points', 'trial_rows', NULL, true);
