INSERT INTO stored.shard
SELECT coalesce(max(shard_id), 0) + 1, $study_id, $sha256, $name, $measurements, $producer
FROM stored.shard
RETURNING shard_id;
