-- The shards of a release with the runs they came from by trial; NULL for what did not come from runs of other tools.
SELECT workload, batch_size, train_steps, CAST(producer -> 'runs' AS VARCHAR) AS runs
FROM stored.release
JOIN stored.workload USING (release_id)
JOIN stored.study USING (workload_id)
LEFT JOIN stored.shard USING (study_id)
WHERE release = $release;
