INSERT INTO stored.improvement BY NAME
SELECT $study_id AS study_id, * EXCLUDE (study_id)
FROM published_improvements
WHERE study_id = $published_id AND list_contains($trials, trial_id);
