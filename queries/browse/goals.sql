-- The metric and goal of each workload asked for, in the order of asking.
SELECT workload, metric, goal
FROM stored.workload
JOIN stored.release USING (release_id)
WHERE list_contains($workloads, workload) AND ($release IS NULL OR release = $release)
ORDER BY list_position($workloads, workload), release_id;
