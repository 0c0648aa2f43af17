-- The evaluations of a workload's trials, those that diverged too.
SELECT batch_size, trial_id, step, COLUMNS('^(train|val|test)_')
FROM measurements
WHERE release = $release AND workload = $workload AND coalesce(
    train_cross_entropy_error,
    train_classification_error,
    train_average_precision,
    val_cross_entropy_error,
    val_classification_error,
    val_average_precision,
    test_cross_entropy_error,
    test_classification_error,
    test_average_precision
) IS NOT NULL
ORDER BY batch_size, trial_id, step;
