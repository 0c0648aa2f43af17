-- Where the trials of a study came from; NULL for the archive.
SELECT trial_id, name
FROM stored.trial
LEFT JOIN stored.shard USING (shard_id)
WHERE trial.study_id = $study_id;
