-- Which releases hold rows of each workload.
SELECT workload, list(release ORDER BY release) AS releases
FROM workloads
GROUP BY workload;
