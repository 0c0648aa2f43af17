/*
Sparsity study: how much longer does a pruned network train?
Three networks with three optimizers, one curve a batch size; x is the sparsity (the share of weights pruned before
training) in percent, y the fewest steps to reach the goal. A curve without data has one row without x.
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
batch_sizes(batch_order, batch_size) AS (
    VALUES (1, 16), (2, 64), (3, 256), (4, 1024), (5, 4096)
),
curves AS (
    SELECT *
    FROM sparse_curves('networks', 'sparsities')
    CROSS JOIN batch_sizes
),
asked AS (FROM drawn('curves', $release::VARCHAR, $goal::DOUBLE, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
study_rows AS (FROM study_steps('trial_rows')),
points AS (
    SELECT
        *,
        steps_unknown(stopped, steps) AS is_unknown,
        CASE WHEN is_held AND (NOT is_unknown OR count(steps) OVER curve > 0) THEN 100 * sparsity::DOUBLE END AS x
    FROM study_rows
    WINDOW curve AS (PARTITION BY panel_order, batch_order, release_order)
)
SELECT
    panel,
    format('batch size {:,}', batch_size) AS series,
    x,
    steps AS y,
    panel_order,
    batch_order AS series_order,
    release,
    release_order,
    workload,
    batch_size,
    metric,
    goal,
    goal_inclusive,
    trials,
    asked_trials,
    steps,
    trial_id,
    learning_rate,
    momentum,
    best_of,
    band_low,
    band_high,
    is_unknown
FROM banded('points', 'trial_rows', NULL, coalesce($bands::BOOLEAN, false))
WINDOW curve AS (PARTITION BY panel_order, batch_order, release_order)
QUALIFY x IS NOT NULL OR count(x) OVER curve = 0 AND row_number() OVER (curve ORDER BY sparsity) = 1
ORDER BY panel_order, series_order, release_order, x;
