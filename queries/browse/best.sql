-- The best measurement within a budget of each study of the named workloads, in their order. Studies that did not train for as
-- much as the budget, or ended at their goal, are left out.
WITH asked AS (
    SELECT *, $trials AS asked_trials, $most_steps::BIGINT AS most_steps, $most_examples::BIGINT AS most_examples
    FROM study_goals($workloads, $release, $batch_sizes, $metric, NULL)
    WHERE train_steps >= coalesce($most_steps, 0)
        AND examples >= coalesce($most_examples, 0)
        AND NOT (stopped AND $most_steps IS NULL AND $most_examples IS NULL)
)
SELECT
    release,
    workload,
    batch_size,
    value,
    step,
    trial_id,
    learning_rate,
    momentum,
    trials,
    metric
FROM study_best('asked')
ORDER BY list_position($workloads, workload), release, batch_size;
