SELECT shard.* REPLACE (producer::VARCHAR AS producer)
FROM stored.shard AS shard
JOIN stored.study USING (study_id)
JOIN stored.workload USING (workload_id)
JOIN stored.release USING (release_id)
WHERE release = $release
ORDER BY workload, batch_size, name, sha256;
