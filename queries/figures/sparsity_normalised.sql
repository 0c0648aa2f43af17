/*
Sparsity study: do the curves of all sparsities have one shape?
Three networks with three optimizers, one curve a sparsity (the share of weights pruned before training); y is the steps
to result divided by the curve's own at the batch size at which most curves of the panel reached the goal, of several the
smallest.
The goal is reached at it, not only past it. Goals are as stated for MNIST and for Nesterov momentum on CIFAR-10, chosen
for the others; the fully connected network is an addition to the study. Change a goal or a number of trials below; the
parameters goal and trials replace them all, release names the release, or several joined by commas.
*/
WITH networks(panel_order, panel, dataset, model, optimizer, metric, goal, asked_trials) AS (
    VALUES
        (1, 'Simple CNN on MNIST, SGD', 'mnist', 'simple_cnn', 'sgd', 'val_classification_error', 0.02, 100),
        (2, 'Simple CNN on MNIST, momentum', 'mnist', 'simple_cnn', 'momentum', 'val_classification_error', 0.02, 100),
        (3, 'Simple CNN on MNIST, Nesterov momentum', 'mnist', 'simple_cnn', 'nesterov_momentum', 'val_classification_error', 0.02, 100),
        (4, 'Simple CNN on Fashion MNIST, SGD', 'fashion_mnist', 'simple_cnn', 'sgd', 'val_classification_error', 0.12, 100),
        (5, 'Simple CNN on Fashion MNIST, momentum', 'fashion_mnist', 'simple_cnn', 'momentum', 'val_classification_error', 0.12, 100),
        (6, 'Simple CNN on Fashion MNIST, Nesterov momentum', 'fashion_mnist', 'simple_cnn', 'nesterov_momentum', 'val_classification_error', 0.12, 100),
        (7, 'ResNet-8 on CIFAR-10, SGD', 'cifar_10', 'resnet_8', 'sgd', 'val_classification_error', 0.4, 100),
        (8, 'ResNet-8 on CIFAR-10, momentum', 'cifar_10', 'resnet_8', 'momentum', 'val_classification_error', 0.4, 100),
        (9, 'ResNet-8 on CIFAR-10, Nesterov momentum', 'cifar_10', 'resnet_8', 'nesterov_momentum', 'val_classification_error', 0.4, 100),
        (10, 'FC 128-128-128 on MNIST, SGD', 'mnist', 'fc_128_128_128', 'sgd', 'val_classification_error', 0.04, 100)
),
sparsities(series_order, series, sparsity) AS (
    VALUES (1, 'dense', 0.0), (2, '50 % sparse', 0.5), (3, '70 % sparse', 0.7), (4, '90 % sparse', 0.9)
),
curves AS (FROM sparse_curves('networks', 'sparsities')),
asked AS (FROM drawn('curves', $release::VARCHAR, $goal::DOUBLE, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
study_rows AS (FROM study_steps('trial_rows')),
points AS (FROM steps_points('study_rows')),
bounded AS (FROM banded('points', 'trial_rows', NULL, coalesce($bands::BOOLEAN, false)))
FROM normalised('bounded');
