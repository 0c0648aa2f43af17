/*
Sparsity study: is the gradient of a pruned network less smooth during training?
A panel a network, a curve a sparsity (the share of weights pruned before training); x is the step, y the Lipschitz
constant of the gradient as the producer measured it during the trial that stands for the study: of the first COMPLETE ones
that which reached the goal first or, where none did, which had the best validation error. The batch size is the one
nearest to 256 that most of the network's sparsities share. A curve is thinned to some 500 points; step 0, for which a
logarithmic axis has no place, is left out.
The goal is reached at it, not only past it. Goals are as stated for MNIST and for Nesterov momentum on CIFAR-10, chosen
for Fashion MNIST; optimizers and batch size are chosen. Change them below; the parameters goal and trials replace theirs,
release names the release, or several joined by commas.
*/
WITH networks(panel_order, panel, dataset, model, optimizer, metric, goal, trials) AS (
    VALUES
        (1, 'Simple CNN on MNIST, SGD', 'mnist', 'simple_cnn', 'sgd', 'val_classification_error', 0.02, 100),
        (2, 'Simple CNN on Fashion MNIST, SGD', 'fashion_mnist', 'simple_cnn', 'sgd', 'val_classification_error', 0.12, 100),
        (3, 'ResNet-8 on CIFAR-10, Nesterov momentum', 'cifar_10', 'resnet_8', 'nesterov_momentum', 'val_classification_error', 0.4, 100)
),
sparsities(series_order, series, sparsity) AS (
    VALUES (1, 'dense', 0.0), (2, '50 % sparse', 0.5), (3, '70 % sparse', 0.7), (4, '90 % sparse', 0.9)
),
sparse AS (
    SELECT * FROM sparse_curves('networks', 'sparsities', $goal::DOUBLE)
),
curves AS (
    SELECT sparse.* EXCLUDE (panel), concat(panel, ', batch size ' || format('{:,}', batch_size)) AS panel, batch_size
    FROM sparse
    JOIN (
        SELECT panel_order, near_batch_size(256, $release::VARCHAR, list(workload)) AS batch_size
        FROM sparse
        GROUP BY panel_order
    ) USING (panel_order)
)
SELECT *
FROM other_metric_points(
    'curves', $release::VARCHAR, NULL, $trials::BIGINT, 'gradient_lipschitz_constant', 'Lipschitz constant of the gradient'
);
