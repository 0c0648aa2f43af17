-- The loss after the last step of each branch of the named workloads, a row a branch: infinite where it diverged.
WITH ends AS (
    SELECT release, workload, batch_size, trial_id, max_by(train_cross_entropy_error, step) AS loss
    FROM measurements
    WHERE list_contains($workloads, workload) AND train_cross_entropy_error IS NOT NULL
    GROUP BY ALL
)
SELECT
    release,
    workload,
    metaparameters['parent_batch_size']::INTEGER AS batch_size,
    metaparameters['parent_step']::BIGINT AS step,
    metaparameters['parent_trial']::INTEGER AS parent_trial,
    trials.batch_size AS larger,
    steps * larger AS examples,
    if(status = 'COMPLETE', loss, 'inf') AS loss
FROM trials
JOIN ends USING (release, workload, batch_size, trial_id)
ORDER BY release, workload, metaparameters['parent_batch_size'], step, parent_trial, larger;
