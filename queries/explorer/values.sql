-- How many values each workload has of each metric that is measured at evaluations.
SELECT release, workload, count(COLUMNS('^(train|val|test)_'))
FROM measurements
WHERE list_contains($workloads, workload) AND ($release IS NULL OR release = $release)
GROUP BY ALL;
