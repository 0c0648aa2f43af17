SELECT workload.* REPLACE (definition::VARCHAR AS definition)
FROM stored.workload AS workload
JOIN stored.release USING (release_id)
WHERE release = $release
ORDER BY workload.workload;
