SELECT DISTINCT workload
FROM stored.workload
JOIN stored.release USING (release_id)
WHERE $release IS NULL OR release = $release
ORDER BY workload;
