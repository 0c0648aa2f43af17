SELECT DISTINCT workload
FROM workloads
WHERE $release IS NULL OR release = $release
ORDER BY workload;
