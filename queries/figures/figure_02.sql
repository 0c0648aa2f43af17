/*
Figure 2: does the goal change how the steps to result depend on the batch size?
Three workloads, one curve a goal; y is the fewest steps to get strictly past it. There is no line of perfect scaling.
Change a goal or a number of trials below; the parameter trials replaces the latter, the parameter goal leaves one curve
a panel for that goal, release names the release, or several joined by commas.
*/
WITH goals(panel_order, panel, series_order, workload, metric, goal, asked_trials) AS (
    VALUES
        (1, 'Simple CNN on MNIST', 1, 'mnist/simple_cnn_base/nesterov_momentum', 'val_classification_error', 0.008, 100),
        (1, 'Simple CNN on MNIST', 2, 'mnist/simple_cnn_base/nesterov_momentum', 'val_classification_error', 0.01, 100),
        (1, 'Simple CNN on MNIST', 3, 'mnist/simple_cnn_base/nesterov_momentum', 'val_classification_error', 0.012, 100),
        (1, 'Simple CNN on MNIST', 4, 'mnist/simple_cnn_base/nesterov_momentum', 'val_classification_error', 0.014, 100),
        (1, 'Simple CNN on MNIST', 5, 'mnist/simple_cnn_base/nesterov_momentum', 'val_classification_error', 0.016, 100),
        (2, 'Transformer on LM1B', 1, 'lm1b/transformer_base/nesterov_momentum', 'val_cross_entropy_error', 3.8, 100),
        (2, 'Transformer on LM1B', 2, 'lm1b/transformer_base/nesterov_momentum', 'val_cross_entropy_error', 3.85, 100),
        (2, 'Transformer on LM1B', 3, 'lm1b/transformer_base/nesterov_momentum', 'val_cross_entropy_error', 3.9, 100),
        (2, 'Transformer on LM1B', 4, 'lm1b/transformer_base/nesterov_momentum', 'val_cross_entropy_error', 3.95, 100),
        (2, 'Transformer on LM1B', 5, 'lm1b/transformer_base/nesterov_momentum', 'val_cross_entropy_error', 4.0, 100),
        (2, 'Transformer on LM1B', 6, 'lm1b/transformer_base/nesterov_momentum', 'val_cross_entropy_error', 4.05, 100),
        (3, 'ResNet-50 on ImageNet', 1, 'imagenet/resnet_50/nesterov_momentum', 'val_classification_error', 0.25, 100),
        (3, 'ResNet-50 on ImageNet', 2, 'imagenet/resnet_50/nesterov_momentum', 'val_classification_error', 0.27, 100),
        (3, 'ResNet-50 on ImageNet', 3, 'imagenet/resnet_50/nesterov_momentum', 'val_classification_error', 0.29, 100),
        (3, 'ResNet-50 on ImageNet', 4, 'imagenet/resnet_50/nesterov_momentum', 'val_classification_error', 0.31, 100)
),
curves AS (
    SELECT *, concat('goal ', coalesce($goal::DOUBLE, goal::DOUBLE)) AS series
    FROM goals
    WHERE $goal::DOUBLE IS NULL OR series_order = 1
),
asked AS (FROM drawn('curves', $release::VARCHAR, $goal::DOUBLE, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
study_rows AS (FROM study_steps('trial_rows')),
points AS (
    SELECT * REPLACE (NULL::DOUBLE AS perfect)
    FROM steps_points('study_rows')
)
FROM banded('points', 'trial_rows', NULL, coalesce($bands::BOOLEAN, false));
