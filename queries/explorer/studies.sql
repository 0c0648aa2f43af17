-- The studies of a workload with the number of their trials and the shards that hold them.
SELECT
    batch_size,
    train_steps,
    stopped,
    -- Whether it searched near the best of another batch size, and not the whole space.
    search->>'origin' IS NOT NULL AS windowed,
    search_space::VARCHAR AS search_space,
    count(trial_id) AS trials,
    list_sort(list_distinct(list(shard))) AS shards
FROM studies
LEFT JOIN (SELECT release, workload, batch_size, trial_id, shard FROM trials) USING (release, workload, batch_size)
WHERE release = $release AND workload = $workload
GROUP BY ALL
ORDER BY batch_size;
