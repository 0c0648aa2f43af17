INSERT INTO steps
SELECT
    $position AS position,
    release,
    workload,
    batch_size,
    steps,
    trial_id,
    value,
    metaparameters['learning_rate'] AS learning_rate,
    metaparameters['momentum'] AS momentum,
    trials,
    goal,
    metric
FROM steps_to_result($release, $workload, $metric, $goal, $trials);
