/*
Steps to result against batch size for any workloads: those named in one panel, or else one panel for those that share data
set, optimizer and goal. The parameter metric replaces their metric.
*/
WITH chosen AS (
    SELECT * REPLACE (coalesce($metric::VARCHAR, metric) AS metric)
    FROM any_workloads($release::VARCHAR, $workloads::VARCHAR[], $goal::DOUBLE)
),
curves AS (SELECT *, 100 AS asked_trials FROM named_by_difference('chosen', $workloads::VARCHAR[])),
asked AS (FROM drawn('curves', $release::VARCHAR, NULL, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
study_rows AS (FROM study_steps('trial_rows')),
first_points AS (FROM steps_points('study_rows')),
points AS (FROM with_scaling_of_trials('first_points', 'trial_rows', $trials::BIGINT, $through::VARCHAR))
FROM banded('points', 'trial_rows', NULL, coalesce($bands::BOOLEAN, true));
