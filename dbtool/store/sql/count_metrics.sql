SELECT
    count(train_cross_entropy_error) AS train_cross_entropy_error,
    count(train_classification_error) AS train_classification_error,
    count(train_average_precision) AS train_average_precision,
    count(val_cross_entropy_error) AS val_cross_entropy_error,
    count(val_classification_error) AS val_classification_error,
    count(val_average_precision) AS val_average_precision,
    count(test_cross_entropy_error) AS test_cross_entropy_error,
    count(test_classification_error) AS test_classification_error,
    count(test_average_precision) AS test_average_precision,
    count(batch_cross_entropy_error) AS batch_cross_entropy_error
FROM stored.measurement
WHERE study_id = $study_id;
