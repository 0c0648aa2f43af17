/*
A metaparameter of the trial that got strictly past the goal first, against batch size: y is the learning rate, the effective
learning rate (learning rate / (1 - momentum)), or 1 - momentum. linear and square_root are the two scaling rules of learning
rates through the first point.
*/
WITH curves AS (
    SELECT panel_order, panel, series_order, series, workload, metric, goal, asked_trials
    FROM curves_of($figure)
),
asked AS (FROM drawn('curves', $release::VARCHAR, $goal::DOUBLE, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
study_rows AS (FROM study_steps('trial_rows')),
first_points AS (FROM steps_points('study_rows')),
points AS (FROM optimal('first_points', $metaparameter))
FROM banded('points', 'trial_rows', $metaparameter, coalesce($bands::BOOLEAN, false));
