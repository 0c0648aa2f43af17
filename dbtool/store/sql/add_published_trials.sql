-- The trials whose ids are listed, with their shards, which are there already.
INSERT INTO stored.trial BY NAME
SELECT
    $study_id AS study_id,
    published.* EXCLUDE (study_id, shard_id),
    shard.shard_id AS shard_id
FROM published_trials AS published
LEFT JOIN published_shards USING (shard_id)
LEFT JOIN stored.shard AS shard ON shard.sha256 = published_shards.sha256
WHERE published.study_id = $published_id AND list_contains($trials, trial_id)
ORDER BY trial_id;
