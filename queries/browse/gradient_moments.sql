-- The two moments of the gradient noise scale along the trials of the named workloads, a row a measurement of them.
SELECT
    release,
    workload,
    batch_size,
    trial_id,
    step,
    other_metrics['gradient_squared_norm'] AS squared_norm,
    other_metrics['gradient_covariance_trace'] AS covariance_trace
FROM measurements
WHERE list_contains($workloads, workload)
    AND other_metrics IS NOT NULL
    AND isfinite(squared_norm)
    AND isfinite(covariance_trace)
ORDER BY list_position($workloads, workload), release, batch_size, trial_id, step;
