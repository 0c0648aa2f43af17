INSERT INTO stored.study
SELECT
    coalesce(max(study_id), 0) + 1,
    $workload_id,
    $batch_size,
    $train_steps,
    $early_stopping,
    $search_space,
    $seed,
    $search
FROM stored.study
RETURNING study_id;
