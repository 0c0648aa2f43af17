SELECT *
FROM stored.releases
WHERE release IN (
    SELECT release
    FROM stored.studies
    WHERE is_asked(workload, release, batch_size, $workloads, $release, $batch_sizes)
)
ORDER BY position;
