/*
Was the search space wide enough for the Transformer on LM1B?
A panel a metaparameter; a point is a COMPLETE or diverged trial of any number, x its study's batch size, y the
metaparameter's value, the series what became of it; best marks the trial of the study that reached the goal first. One
that lies at a border of the range (low, high) tells that a wider search might have found a better one.
Change the goal or the panels below; the parameter goal replaces the goal, trials takes the first so many trials of each
study instead of all, release names the release, or several joined by commas.
*/
WITH setting AS (
    SELECT
        'lm1b/transformer_base/nesterov_momentum' AS workload,
        'val_cross_entropy_error' AS metric,
        3.9 AS goal
),
-- relative: y is divided by the highest value that the study searched.
metaparameters(panel_order, panel, metaparameter, relative) AS (
    VALUES
        (1, 'Learning rate', 'learning_rate', false),
        (2, 'Momentum', 'momentum', false)
),
panels AS (
    SELECT * FROM metaparameters CROSS JOIN setting
),
asked AS (FROM drawn('panels', $release::VARCHAR, $goal::DOUBLE, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
outcome_rows AS (FROM outcomes('trial_rows'))
FROM gridded('outcome_rows');
