SELECT trial_id, status, steps, metaparameters, measurements
FROM stored.trial
WHERE study_id = $study_id
ORDER BY trial_id;
