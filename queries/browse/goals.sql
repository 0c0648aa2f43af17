-- The metric and goal of each named workload in each release, in the order of the names.
SELECT workload, release, metric, goal
FROM workloads
WHERE list_contains($workloads, workload) AND ($release IS NULL OR release = $release)
ORDER BY list_position($workloads, workload), release;
