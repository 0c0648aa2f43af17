-- Each branch of the named workloads, of several learning rates the best: the loss after its last step, infinite where it diverged, and its mean moments of the gradient.
WITH ends AS (
    SELECT
        release,
        workload,
        batch_size,
        trial_id,
        max_by(train_cross_entropy_error, step) FILTER (train_cross_entropy_error IS NOT NULL) AS loss,
        avg(squared_norm) FILTER (isfinite(squared_norm)) AS squared_norm,
        avg(covariance_trace) FILTER (isfinite(covariance_trace)) AS covariance_trace,
        avg(own_squared_norm) FILTER (isfinite(own_squared_norm)) AS own_squared_norm,
        avg(own_covariance_trace) FILTER (isfinite(own_covariance_trace)) AS own_covariance_trace
    FROM (
        SELECT
            *,
            other_metrics['gradient_squared_norm'] AS squared_norm,
            other_metrics['gradient_covariance_trace'] AS covariance_trace,
            other_metrics['preconditioned_squared_norm'] AS own_squared_norm,
            other_metrics['preconditioned_covariance_trace'] AS own_covariance_trace
        FROM measurements
    )
    WHERE list_contains($workloads, workload)
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
    if(status = 'COMPLETE', ends.loss, 'inf') AS loss,
    count(*) OVER same_batches AS rates,
    squared_norm,
    covariance_trace,
    own_squared_norm,
    own_covariance_trace
FROM trials
JOIN ends USING (release, workload, batch_size, trial_id)
WINDOW same_batches AS (
    PARTITION BY release, workload, trials.batch_size, metaparameters['parent_step'], metaparameters['parent_trial']
)
QUALIFY row_number() OVER (same_batches ORDER BY if(status = 'COMPLETE', ends.loss, 'inf'), trial_id) = 1
ORDER BY release, workload, metaparameters['parent_batch_size'], step, parent_trial, larger;
