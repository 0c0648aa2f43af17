-- The workloads that producers defined in another way in one release than in another, with these releases.
SELECT workload, list(release ORDER BY release) AS releases
FROM workloads
WHERE definition IS NOT NULL
GROUP BY workload
HAVING count(DISTINCT definition::VARCHAR) > 1
ORDER BY workload;
