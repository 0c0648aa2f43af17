/*
Figure 10: do models of different sizes reach the goal with the same metaparameters?
A panel a Transformer on LM1B, all at one batch size; a point is a COMPLETE or diverged trial, x its learning rate, y
its 1 - momentum, the series what became of it within the budget; best marks the trial that reached the goal first.
Change the models, the goal, the batch size or the budget (in steps) below; the parameter goal replaces the goal, trials
takes the first so many trials of each study instead of all, release names the release, or several joined by commas.
*/
WITH setting AS (
    SELECT 1024 AS batch_size, 'val_cross_entropy_error' AS metric, 4.2 AS goal, 50_000 AS most_steps
),
models(panel_order, panel, workload) AS (
    VALUES
        (1, 'Transformer wide', 'lm1b/transformer_wide/nesterov_momentum'),
        (2, 'Transformer base', 'lm1b/transformer_base/nesterov_momentum'),
        (3, 'Transformer shallow', 'lm1b/transformer_shallow/nesterov_momentum'),
        (4, 'Transformer narrow and shallow', 'lm1b/transformer_narrow_and_shallow/nesterov_momentum')
),
panels AS (
    SELECT * FROM models CROSS JOIN setting
),
asked AS (FROM drawn('panels', $release::VARCHAR, $goal::DOUBLE, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
outcome_rows AS (FROM outcomes('trial_rows'))
-- The axes are those of the paper.
SELECT *, 1e-4 AS x_from, 1e-1 AS x_to, 1e-4 AS y_from, 1e-1 AS y_to
FROM scattered('outcome_rows');
