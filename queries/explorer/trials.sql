-- The trials of a workload with their metaparameters.
SELECT
    batch_size,
    trial_id,
    status,
    ordinal::INTEGER AS ordinal,
    steps::INTEGER AS steps,
    learning_rate,
    momentum,
    setting::INTEGER AS setting,
    settings::VARCHAR AS settings
FROM trials
WHERE release = $release AND workload = $workload
ORDER BY batch_size, trial_id;
