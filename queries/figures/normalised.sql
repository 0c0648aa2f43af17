/*
Relative steps to result against batch size; y is the steps to result divided by the curve's own at the batch size
normalise_at or, where more of the panel's curves reached the goal at another one, at that, of several the smallest.
*/
WITH curves AS (
    SELECT
        panel_order, panel, series_order, series, workload, sparsity, metric, goal, goal_inclusive, asked_trials, normalise_at
    FROM curves_of($figure)
),
asked AS (FROM drawn('curves', $release::VARCHAR, $goal::DOUBLE, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
study_rows AS (FROM study_steps('trial_rows')),
points AS (FROM steps_points('study_rows')),
bounded AS (FROM banded('points', 'trial_rows', NULL, coalesce($bands::BOOLEAN, false)))
FROM normalised('bounded');
