INSERT INTO stored.trial BY NAME
SELECT $study_id AS study_id, *
FROM incoming_trials
ORDER BY trial_id;
