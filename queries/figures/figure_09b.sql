/*
Figure 9b: which metaparameters reach the goal when the budget is a number of steps?
A panel a batch size of the Transformer on LM1B; a point is a COMPLETE or diverged trial, x its learning rate, y its
1 - momentum, the series what became of it within the budget; best marks the trial that reached the goal first.
Change the goal, the batch sizes or the budget (in steps) below; the parameter goal replaces the goal, trials takes the
first so many trials of each study instead of all, release names the release, or several joined by commas.
*/
WITH setting AS (
    SELECT
        'lm1b/transformer_base/nesterov_momentum' AS workload,
        'val_cross_entropy_error' AS metric,
        3.9 AS goal,
        25_000 AS most_steps
),
panels AS (
    SELECT
        row_number() OVER (ORDER BY batch_size) AS panel_order,
        concat('Batch size ', format('{:,}', batch_size)) AS panel,
        workload,
        batch_size,
        metric,
        goal,
        most_steps
    FROM setting
    CROSS JOIN (
        VALUES (512), (1024), (2048), (4096), (8192), (16384)
    ) AS batch_sizes(batch_size)
),
asked AS (FROM drawn('panels', $release::VARCHAR, $goal::DOUBLE, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
outcome_rows AS (FROM outcomes('trial_rows'))
-- The axes are those of the paper.
SELECT *, 10 ** (-4.5) AS x_from, 10 ** (-0.5) AS x_to, 1e-6 AS y_from, 10.0 AS y_to
FROM scattered('outcome_rows');
