SELECT *
FROM stored.trial
WHERE study_id = $study_id
ORDER BY trial_id;
