-- Of some trials of a study that follow each other. Rows of a step, which archives repeat, keep their order.
SELECT * EXCLUDE (study_id)
FROM stored.measurement
WHERE study_id = $study_id AND trial_id BETWEEN $first AND $last
ORDER BY trial_id, step, rowid;
