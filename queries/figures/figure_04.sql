/*
Figure 4: how far do momentum and Nesterov momentum extend the range of useful batch sizes?
Three workloads, one curve an optimizer; y is the fewest steps to get strictly past the goal.
Change a goal or a number of trials below; the parameters goal and trials replace them all, release names the release,
or several joined by commas.
*/
WITH curves(panel_order, panel, series_order, series, workload, metric, goal, asked_trials) AS (
    VALUES
        (1, 'Simple CNN on MNIST', 1, 'sgd', 'mnist/simple_cnn_base/sgd', 'val_classification_error', 0.01, 100),
        (1, 'Simple CNN on MNIST', 2, 'momentum', 'mnist/simple_cnn_base/momentum', 'val_classification_error', 0.01, 100),
        (1, 'Simple CNN on MNIST', 3, 'nesterov_momentum', 'mnist/simple_cnn_base/nesterov_momentum', 'val_classification_error', 0.01, 100),
        (2, 'Shallow Transformer on LM1B', 1, 'sgd', 'lm1b/transformer_shallow/sgd', 'val_cross_entropy_error', 3.9, 50),
        (2, 'Shallow Transformer on LM1B', 2, 'momentum', 'lm1b/transformer_shallow/momentum', 'val_cross_entropy_error', 3.9, 100),
        (2, 'Shallow Transformer on LM1B', 3, 'nesterov_momentum', 'lm1b/transformer_shallow/nesterov_momentum', 'val_cross_entropy_error', 3.9, 100),
        (3, 'ResNet-8 on CIFAR-10', 1, 'sgd', 'cifar_10/resnet_8/sgd', 'val_classification_error', 0.3, 100),
        (3, 'ResNet-8 on CIFAR-10', 2, 'nesterov_momentum', 'cifar_10/resnet_8/nesterov_momentum', 'val_classification_error', 0.3, 100)
),
asked AS (FROM drawn('curves', $release::VARCHAR, $goal::DOUBLE, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
study_rows AS (FROM study_steps('trial_rows')),
points AS (FROM steps_points('study_rows'))
FROM banded('points', 'trial_rows', NULL, coalesce($bands::BOOLEAN, false));
