SELECT *
FROM stored.releases
WHERE release IN (
    SELECT release
    FROM stored.studies
    WHERE list_contains($workloads, workload)
        AND ($release IS NULL OR release = $release)
        AND ($batch_sizes IS NULL OR list_contains($batch_sizes, batch_size))
)
ORDER BY position;
