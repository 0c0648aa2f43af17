SELECT *
FROM stored.studies
WHERE is_asked(workload, release, batch_size, $workloads, $release, $batch_sizes)
ORDER BY release, workload, batch_size;
