SELECT workload.* EXCLUDE (workload_id, release_id)
FROM stored.workload AS workload
JOIN stored.release USING (release_id)
WHERE release = $release;
