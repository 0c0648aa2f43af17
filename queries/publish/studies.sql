-- The last two columns stay behind.
SELECT study.* REPLACE (search_space::VARCHAR AS search_space, search::VARCHAR AS search), workload, metric
FROM stored.study AS study
JOIN stored.workload USING (workload_id)
JOIN stored.release USING (release_id)
WHERE release = $release
ORDER BY workload, batch_size;
