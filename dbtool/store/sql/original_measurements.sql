-- A filter of the list alone would have DuckDB read the whole study.
SELECT
    trial_id,
    step,
    train_cross_entropy_error,
    train_classification_error,
    train_average_precision,
    val_cross_entropy_error,
    val_classification_error,
    val_average_precision,
    test_cross_entropy_error,
    test_classification_error,
    test_average_precision,
    batch_cross_entropy_error,
    other_metrics
FROM stored.measurement
WHERE study_id = $study_id
    AND trial_id BETWEEN list_min($trial_ids) AND list_max($trial_ids)
    AND list_contains($trial_ids, trial_id);
