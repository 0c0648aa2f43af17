/*
Was the search space wide enough for ResNet-50 on ImageNet?
A panel a metaparameter; a point is a COMPLETE or diverged trial of any number, x its study's batch size, y the
metaparameter's value, the series what became of it; best marks the trial of the study that reached the goal first. One
that lies at a border of the range (low, high) tells that a wider search might have found a better one.
Change the goal or the panels below; the parameter goal replaces the goal, trials takes the first so many trials of each
study instead of all, release names the release, or several joined by commas.
*/
WITH setting AS (
    SELECT
        'imagenet/resnet_50/nesterov_momentum' AS workload,
        'val_classification_error' AS metric,
        0.25 AS goal
),
-- relative: y is divided by the highest value that the study searched, because the steps of the decay were searched in
-- another range at every batch size.
metaparameters(panel_order, panel, metaparameter, relative) AS (
    VALUES
        (1, 'Learning rate', 'learning_rate', false),
        (2, 'Momentum', 'momentum', false),
        (3, 'Steps of the learning rate''s decay', 'learning_rate_decay_steps', true),
        (4, 'End factor of the learning rate''s decay', 'end_learning_rate_factor', false),
        (5, 'Label smoothing', 'label_smoothing', false)
),
panels AS (
    SELECT * FROM metaparameters CROSS JOIN setting
),
asked AS (FROM drawn('panels', $release::VARCHAR, $goal::DOUBLE, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
outcome_rows AS (FROM outcomes('trial_rows'))
FROM gridded('outcome_rows');
