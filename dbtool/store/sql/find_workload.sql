-- A stored workload: the definition its shards gave, or for the archive what the columns say.
SELECT
    workload_id,
    coalesce(
        definition,
        json_object(
            'workload', workload,
            'collection', collection,
            'dataset', dataset,
            'model', model,
            'optimizer', optimizer,
            'sparsity', sparsity,
            'metric', metric,
            'goal', goal,
            'maximize', maximize,
            'train_examples', train_examples
        )
    ) AS definition
FROM stored.workload
JOIN stored.release USING (release_id)
WHERE release = $release AND workload = $workload;
