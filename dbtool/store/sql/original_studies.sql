SELECT
    study_id,
    workload,
    dataset,
    model,
    optimizer,
    batch_size,
    train_steps,
    early_stopping,
    search_space
FROM stored.study
JOIN stored.workload USING (workload_id)
JOIN stored.release USING (release_id)
WHERE list_contains($workloads, workload) AND release = $release
ORDER BY workload, batch_size;
