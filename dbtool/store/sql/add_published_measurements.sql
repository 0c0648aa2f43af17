-- The file is sorted by study, trial and step; its rows are stored in that order.
INSERT INTO stored.measurement BY NAME
SELECT $study_id AS study_id, * EXCLUDE (study_id, workload, batch_size)
FROM read_parquet($file)
WHERE study_id = $published_id AND ($trials IS NULL OR list_contains($trials, trial_id));
