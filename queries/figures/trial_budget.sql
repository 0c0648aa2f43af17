/*
Are a hundred trials a study enough?
Figure 1 from fewer and fewer trials: nine workloads, one a panel, one curve a number of trials; y is the fewest steps that
any of the study's first trials took to get strictly past the goal.
Change the numbers, or a goal, below; a workload's curves end at its own number of trials. The parameter goal replaces
the goals; the parameter trials takes the place of the larger numbers; release names the release, or several joined by
commas.
*/
WITH workloads_of_figure_1(panel_order, panel, workload, metric, goal, most_trials) AS (
    VALUES
        (1, 'Simple CNN on MNIST', 'mnist/simple_cnn_base/nesterov_momentum', 'val_classification_error', 0.01, 100),
        (2, 'Simple CNN on Fashion MNIST', 'fashion_mnist/simple_cnn_base/nesterov_momentum', 'val_classification_error', 0.1, 100),
        (3, 'ResNet-8 on CIFAR-10', 'cifar_10/resnet_8/nesterov_momentum', 'val_classification_error', 0.3, 100),
        (4, 'ResNet-50 on ImageNet', 'imagenet/resnet_50/nesterov_momentum', 'val_classification_error', 0.25, 100),
        (5, 'ResNet-50 on Open Images', 'open_images_v4/resnet_50/nesterov_momentum', 'val_average_precision', 0.31, 100),
        (6, 'Transformer on LM1B', 'lm1b/transformer_base/nesterov_momentum', 'val_cross_entropy_error', 3.9, 100),
        (7, 'Transformer on Common Crawl', 'common_crawl/transformer_base/nesterov_momentum', 'val_cross_entropy_error', 3.9, 50),
        (8, 'VGG-11 on ImageNet', 'imagenet/vgg_11/nesterov_momentum', 'val_classification_error', 0.35, 100),
        (9, 'LSTM on LM1B', 'lm1b/lstm/nesterov_momentum', 'val_cross_entropy_error', 3.9, 50)
),
numbers(number) AS (
    VALUES (10), (25), (50), (100)
),
curves AS (
    SELECT DISTINCT
        panel_order,
        panel,
        least(number, coalesce($trials::BIGINT, number)) AS asked_trials,
        asked_trials AS series_order,
        if(asked_trials = 1, 'first trial', concat('first ', asked_trials, ' trials')) AS series,
        workload,
        metric,
        goal
    FROM workloads_of_figure_1
    CROSS JOIN numbers
    WHERE number <= most_trials
),
asked AS (FROM drawn('curves', $release::VARCHAR, $goal::DOUBLE, NULL)),
trial_rows AS (FROM trial_steps('asked')),
study_rows AS (FROM study_steps('trial_rows')),
points AS (FROM steps_points('study_rows'))
FROM banded('points', 'trial_rows', NULL, coalesce($bands::BOOLEAN, false));
