-- The best measurement of each study of a workload within a budget.
SELECT
    release,
    workload,
    batch_size,
    value,
    step,
    trial_id,
    metaparameters['learning_rate'] AS learning_rate,
    metaparameters['momentum'] AS momentum,
    trials,
    metric
FROM best_measurements($release, $workload, $metric, $most_steps, $most_examples, $trials)
JOIN stored.release USING (release)
WHERE $batch_sizes IS NULL OR list_contains($batch_sizes, batch_size)
ORDER BY release_id, batch_size;
