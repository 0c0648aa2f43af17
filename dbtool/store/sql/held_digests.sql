-- What the trials of a study were in the archive; NULL for those that came from shards.
SELECT trial_id, digest
FROM stored.trial
WHERE study_id = $study_id;
