-- The studies of a published release with their workloads, in the order in which they are loaded.
SELECT
    study_id,
    release,
    title,
    licence,
    citation,
    workload,
    collection,
    dataset,
    model,
    optimizer,
    sparsity,
    metric,
    goal,
    maximize,
    goal_inclusive,
    train_examples,
    definition,
    batch_size,
    train_steps,
    early_stopping,
    search_space,
    seed,
    search
FROM published_studies
JOIN published_workloads USING (workload_id)
JOIN published_releases USING (release_id)
ORDER BY study_id;
