/*
Figure 5: how does the data set change the effect of the batch size?
Three models, one curve a data set; y is the steps to result divided by the curve's own at the batch size normalise_at,
or where more of the panel's curves reached the goal at another one, at that, of several the smallest.
Change a goal or a number of trials below; the parameters goal and trials replace them all, release names the release,
or several joined by commas.
*/
WITH curves(panel_order, panel, series_order, series, workload, metric, goal, asked_trials, normalise_at) AS (
    VALUES
        (1, 'Simple CNN', 1, 'mnist', 'mnist/simple_cnn_base/nesterov_momentum', 'val_classification_error', 0.01, 100, 2),
        (1, 'Simple CNN', 2, 'fashion_mnist', 'fashion_mnist/simple_cnn_base/nesterov_momentum', 'val_classification_error', 0.1, 100, 2),
        (2, 'ResNet-50', 1, 'imagenet', 'imagenet/resnet_50/nesterov_momentum', 'val_classification_error', 0.25, 100, 128),
        (2, 'ResNet-50', 2, 'open_images_v4', 'open_images_v4/resnet_50/nesterov_momentum', 'val_average_precision', 0.31, 100, 128),
        (3, 'Transformer', 1, 'lm1b', 'lm1b/transformer_base/nesterov_momentum', 'val_cross_entropy_error', 3.9, 100, 32),
        (3, 'Transformer', 2, 'common_crawl', 'common_crawl/transformer_base/nesterov_momentum', 'val_cross_entropy_error', 3.9, 50, 32)
),
asked AS (FROM drawn('curves', $release::VARCHAR, $goal::DOUBLE, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
study_rows AS (FROM study_steps('trial_rows')),
points AS (FROM steps_points('study_rows')),
bounded AS (FROM banded('points', 'trial_rows', NULL, coalesce($bands::BOOLEAN, false)))
FROM normalised('bounded');
