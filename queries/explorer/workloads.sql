-- The named workloads of the page, in the order in which `dbtool workloads` lists them.
SELECT release, workload, dataset, model, optimizer, sparsity, metric, goal, goal_inclusive, train_examples
FROM workloads
WHERE list_contains($workloads, workload) AND ($release IS NULL OR release = $release)
ORDER BY release, workload;
