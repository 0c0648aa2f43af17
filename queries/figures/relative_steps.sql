/*
Steps to result relative to those at one batch size, for any workloads: those named in one panel, or else one panel for those
that share data set, optimizer and goal. For y see the macro normalised.
*/
WITH chosen AS (FROM any_workloads($release::VARCHAR, $workloads::VARCHAR[], $goal::DOUBLE)),
curves AS (SELECT *, 100 AS asked_trials FROM named_by_difference('chosen', $workloads::VARCHAR[])),
asked AS (FROM drawn('curves', $release::VARCHAR, NULL, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
study_rows AS (FROM study_steps('trial_rows')),
points AS (FROM steps_points('study_rows')),
bounded AS (FROM banded('points', 'trial_rows', NULL, coalesce($bands::BOOLEAN, true)))
FROM normalised('bounded');
