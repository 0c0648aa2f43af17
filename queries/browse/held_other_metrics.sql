-- The metrics without a column of their own that the named studies measured.
SELECT DISTINCT unnest(map_keys(other_metrics)) AS metric
FROM measurements
WHERE is_asked(workload, release, batch_size, $workloads, $release, $batch_sizes)
EXCEPT SELECT 'seconds'
ORDER BY metric;
