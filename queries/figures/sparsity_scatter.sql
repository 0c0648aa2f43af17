/*
Sparsity study: which metaparameters reach the goal when the network is pruned?
A panel a sparsity (the share of weights pruned before training) of the simple CNN on MNIST with momentum; a point is a
COMPLETE or diverged trial, x its learning rate, y its 1 - momentum, the series what became of it within the budget; best
marks the trial that reached the goal first. The batch size is the one nearest to 256 that most of the sparsities share.
The goal is reached at it, not only past it; goal and budget are as stated for MNIST, optimizer and batch size are chosen.
Change them below; the parameter goal replaces the goal, trials takes the first so many trials of each study instead of
all, release names the release, or several joined by commas.
*/
WITH networks AS (
    SELECT
        1 AS panel_order,
        'Simple CNN on MNIST, momentum' AS panel,
        'mnist' AS dataset,
        'simple_cnn' AS model,
        'momentum' AS optimizer,
        'val_classification_error' AS metric,
        0.02 AS goal,
        40_000 AS most_steps
),
sparsities(series_order, series, sparsity) AS (
    VALUES (1, 'Dense', 0.0), (2, '50 % sparse', 0.5), (3, '70 % sparse', 0.7), (4, '90 % sparse', 0.9)
),
curves AS (FROM sparse_curves('networks', 'sparsities')),
panels AS (
    SELECT * REPLACE (series_order AS panel_order, concat(series, format(', batch size {:,}', batch_size)) AS panel)
    FROM curves
    CROSS JOIN (SELECT near_batch_size(256, $release::VARCHAR, (SELECT list(workload) FROM curves)) AS batch_size)
),
asked AS (FROM drawn('panels', $release::VARCHAR, $goal::DOUBLE, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
outcome_rows AS (FROM outcomes('trial_rows'))
FROM scattered('outcome_rows');
