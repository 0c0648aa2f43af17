SELECT
    release,
    workload,
    batch_size,
    trial_id,
    status,
    steps,
    learning_rate,
    momentum,
    seed,
    measurements,
    metaparameters,
    shard
FROM trials
WHERE is_asked(workload, release, batch_size, $workloads, $release, $batch_sizes)
ORDER BY release, workload, batch_size, trial_id;
