-- The trials of a published study: whether the database holds a trial of that id, and whether it is the same one.
SELECT
    published.trial_id AS trial_id,
    held.trial_id IS NOT NULL AS is_held,
    coalesce(
        published.status = held.status
        AND published.steps = held.steps
        AND list_sort(map_entries(published.metaparameters)) = list_sort(map_entries(held.metaparameters))
        AND published.seed IS NOT DISTINCT FROM held.seed
        AND published.measurements = held.measurements
        AND published.digest IS NOT DISTINCT FROM held.digest
        AND published_shards.sha256 IS NOT DISTINCT FROM shard.sha256,
        false
    ) AS is_same,
    published.shard_id AS shard_id,
    published.measurements AS measurements,
    shard.name AS held_shard
FROM published_trials AS published
LEFT JOIN published_shards USING (shard_id)
LEFT JOIN stored.trial AS held ON held.study_id = $study_id AND held.trial_id = published.trial_id
LEFT JOIN stored.shard AS shard ON shard.shard_id = held.shard_id
WHERE published.study_id = $published_id
ORDER BY published.trial_id;
