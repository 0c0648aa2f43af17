-- The metric and goal of each named workload, in their order.
SELECT workload, metric, goal
FROM workloads
WHERE list_contains($workloads, workload) AND ($release IS NULL OR release = $release)
ORDER BY list_position($workloads, workload), release;
