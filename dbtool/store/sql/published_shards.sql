-- The shards of a published study, and where the database holds the same one already.
SELECT
    published.shard_id AS shard_id,
    published.sha256 AS sha256,
    published.name AS name,
    published.measurements AS measurements,
    published.producer AS producer,
    release,
    workload || '/' || batch_size AS study
FROM published_shards AS published
LEFT JOIN stored.shard AS shard ON shard.sha256 = published.sha256
LEFT JOIN stored.study ON study.study_id = shard.study_id
LEFT JOIN stored.workload USING (workload_id)
LEFT JOIN stored.release USING (release_id)
WHERE published.study_id = $published_id
ORDER BY published.shard_id;
