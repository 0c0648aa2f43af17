INSERT INTO stored.workload
SELECT
    coalesce((SELECT max(workload_id) FROM stored.workload), 0) + 1,
    (SELECT release_id FROM stored.release WHERE release = $release),
    $workload,
    $collection,
    $dataset,
    $model,
    $optimizer,
    $sparsity,
    $metric,
    $goal,
    $maximize,
    $goal_inclusive,
    $train_examples,
    $definition
RETURNING workload_id;
