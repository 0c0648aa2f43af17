-- Which metaparameters are best for a budget of epochs?
--
-- A row a study and budget, from its first 100 trials.
--
-- value is the best that the workload's own metric came to within the budget, at step, and trial_id the trial; ties go to
-- the smaller step, then to the smaller trial id. A study whose train_steps do not reach the budget has no row for it,
-- nor has a workload whose size of the data set is not known. The best metaparameters for a short budget are often not
-- those for a long one: compare the rows of a batch size.
--
-- Change the budgets, or 100 below.
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
    WHERE train_steps * batch_size >= epochs * train_examples
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
