-- The steps to result of a release as further facts; see facts.sql.
SELECT 'steps to result' AS kind, workload, batch_size, -1 AS trial_id, 'steps' AS what, steps::VARCHAR AS value
FROM steps_to_result($release, NULL, $metric, $goal, $trials);
