SELECT
    study_id,
    release,
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
WHERE list_contains($workloads, workload)
    AND ($release IS NULL OR release = $release)
    AND ($batch_sizes IS NULL OR list_contains($batch_sizes, batch_size))
ORDER BY release_id, workload, batch_size;
