/*
Sparsity study: is the gradient of a pruned network less smooth during training?
A panel a network, a curve a sparsity (the share of weights pruned before training); x is the step, y the Lipschitz
constant of the gradient as the producer measured it during the trial that stands for the study: of the first COMPLETE ones
that which reached the goal first or, where none did, which had the best validation error. The batch size is the one
nearest to 256 that most of the network's sparsities share. A curve is thinned to some 500 points; step 0, for which a
logarithmic axis has no room, is left out.
The goal is reached at it, not only past it. Goals are as stated for MNIST and for Nesterov momentum on CIFAR-10, chosen
for Fashion MNIST; optimizers and batch size are chosen. Change them below; the parameters goal and trials replace theirs,
release names the release, or several joined by commas.
*/
WITH networks(panel_order, panel, dataset, model, optimizer, metric, goal, asked_trials) AS (
    VALUES
        (1, 'Simple CNN on MNIST, SGD', 'mnist', 'simple_cnn', 'sgd', 'val_classification_error', 0.02, 100),
        (2, 'Simple CNN on Fashion MNIST, SGD', 'fashion_mnist', 'simple_cnn', 'sgd', 'val_classification_error', 0.12, 100),
        (3, 'ResNet-8 on CIFAR-10, Nesterov momentum', 'cifar_10', 'resnet_8', 'nesterov_momentum', 'val_classification_error', 0.4, 100)
),
sparsities(series_order, series, sparsity) AS (
    VALUES (1, 'dense', 0.0), (2, '50 % sparse', 0.5), (3, '70 % sparse', 0.7), (4, '90 % sparse', 0.9)
),
sparse AS (FROM sparse_curves('networks', 'sparsities')),
curves AS (
    SELECT sparse.*, near_batch_size(256, $release::VARCHAR, network_workloads) AS batch_size
    FROM sparse
    JOIN (SELECT panel_order, list(workload) AS network_workloads FROM sparse GROUP BY panel_order) USING (panel_order)
),
asked AS (FROM drawn('curves', $release::VARCHAR, $goal::DOUBLE, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
study_rows AS (FROM study_steps('trial_rows')),
best_rows AS (FROM study_best('asked')),
followed AS MATERIALIZED (
    SELECT * REPLACE ('gradient_lipschitz_constant' AS metric), metric AS goal_metric, NULL::BIGINT AS kept
    FROM standing('study_rows', 'best_rows')
),
measured AS (FROM thinned('followed', 500))
SELECT
    concat(panel, format(', batch size {:,}', batch_size)) AS panel,
    series,
    step AS x,
    measured.value AS y,
    panel_order,
    series_order,
    release,
    release_order,
    workload,
    batch_size,
    metric,
    goal_metric,
    goal,
    goal_inclusive,
    CASE WHEN is_held THEN trials END AS trials,
    asked_trials,
    trial_id,
    steps
FROM followed
LEFT JOIN measured USING (release, workload, batch_size, trial_id, metric)
ORDER BY panel_order, series_order, release_order, x;
