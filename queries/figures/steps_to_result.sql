/*
Steps to result against batch size; y is the fewest steps to get strictly past the goal.
*/
WITH curves AS (
    SELECT panel_order, panel, series_order, series, workload, sparsity, metric, goal, goal_inclusive, asked_trials
    FROM curves_of($figure)
),
asked AS (FROM drawn('curves', $release::VARCHAR, $goal::DOUBLE, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
study_rows AS (FROM study_steps('trial_rows')),
points AS (FROM steps_points('study_rows'))
FROM banded('points', 'trial_rows', NULL, coalesce($bands::BOOLEAN, false));
