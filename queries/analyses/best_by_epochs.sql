-- Which metaparameters are best for a budget of epochs?
--
-- A row for each study and budget, from the first 100 trials of the study.
--
-- - value: the best value of the workload's own metric within the budget.
-- - step, trial_id: where it was measured. Ties go to the smaller step, then to the smaller trial id.
--
-- A study has no row for a budget beyond its train_steps, and a workload of a data set of unknown size has none at all. The
-- best metaparameters for a short budget are often not those for a long one: compare the rows of a batch size.
--
-- To change: the budgets, and 100 below.
WITH budgets(epochs) AS (
    VALUES (1), (2), (5), (10), (20), (50)
),
asked AS (
    SELECT
        release,
        workload,
        batch_size,
        metric,
        epochs,
        100 AS asked_trials,
        NULL::BIGINT AS most_steps,
        epochs * train_examples AS most_examples
    FROM workloads
    JOIN studies USING (release, workload)
    CROSS JOIN budgets
    WHERE examples_after(train_steps, batch_size, definition) >= epochs * train_examples
)
SELECT
    release,
    workload,
    batch_size,
    epochs,
    metric,
    value,
    step,
    trial_id,
    learning_rate,
    momentum,
    trials AS feasible_trials
FROM study_best('asked')
WHERE value IS NOT NULL
ORDER BY release, workload, batch_size, epochs;
