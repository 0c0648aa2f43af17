-- Measurements of the trials from $first to $last, of those in the list alone where there is one. No join, because a
-- join would change the order in which the rows were stored, and no list where a range does, because the list is
-- searched for every row.
SELECT
    trial_id,
    step,
    train_cross_entropy_error,
    train_classification_error,
    val_cross_entropy_error,
    val_classification_error,
    test_cross_entropy_error,
    test_classification_error,
    train_average_precision,
    val_average_precision,
    test_average_precision,
    batch_cross_entropy_error,
    other_metrics
FROM stored.measurement
WHERE study_id = $study_id
    AND trial_id BETWEEN $first AND $last
    AND ($trial_ids IS NULL OR list_contains($trial_ids, trial_id));
