/*
Figure 1: how do the steps to result depend on the batch size?
Nine workloads, one a panel; y is the fewest steps to get strictly past the goal.
Change a goal or a number of trials below; the parameters goal and trials replace them all, release names the release,
or several joined by commas.
*/
WITH curves(panel_order, panel, series_order, series, workload, metric, goal, asked_trials) AS (
    VALUES
        (1, 'Simple CNN on MNIST', 1, 'simple_cnn_base', 'mnist/simple_cnn_base/nesterov_momentum', 'val_classification_error', 0.01, 100),
        (2, 'Simple CNN on Fashion MNIST', 1, 'simple_cnn_base', 'fashion_mnist/simple_cnn_base/nesterov_momentum', 'val_classification_error', 0.1, 100),
        (3, 'ResNet-8 on CIFAR-10', 1, 'resnet_8', 'cifar_10/resnet_8/nesterov_momentum', 'val_classification_error', 0.3, 100),
        (4, 'ResNet-50 on ImageNet', 1, 'resnet_50', 'imagenet/resnet_50/nesterov_momentum', 'val_classification_error', 0.25, 100),
        (5, 'ResNet-50 on Open Images', 1, 'resnet_50', 'open_images_v4/resnet_50/nesterov_momentum', 'val_average_precision', 0.31, 100),
        (6, 'Transformer on LM1B', 1, 'transformer_base', 'lm1b/transformer_base/nesterov_momentum', 'val_cross_entropy_error', 3.9, 100),
        (7, 'Transformer on Common Crawl', 1, 'transformer_base', 'common_crawl/transformer_base/nesterov_momentum', 'val_cross_entropy_error', 3.9, 50),
        (8, 'VGG-11 on ImageNet', 1, 'vgg_11', 'imagenet/vgg_11/nesterov_momentum', 'val_classification_error', 0.35, 100),
        (9, 'LSTM on LM1B', 1, 'lstm', 'lm1b/lstm/nesterov_momentum', 'val_cross_entropy_error', 3.9, 50)
),
asked AS (FROM drawn('curves', $release::VARCHAR, $goal::DOUBLE, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
study_rows AS (FROM study_steps('trial_rows')),
points AS (FROM steps_points('study_rows'))
FROM banded('points', 'trial_rows', NULL, coalesce($bands::BOOLEAN, false));
