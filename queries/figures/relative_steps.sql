/*
Steps to result relative to those at one batch size, for any workloads.
The parameter workloads holds their names, drawn in one panel; NULL: every workload of the release, one panel for those
that share data set, optimizer and goal. y is the steps divided by the curve's own at the batch size normalise_at, that
at which most curves of the panel reached the goal, of several that of the curves with most points, else the smallest.
Each has its own goal unless the parameter goal is given; a workload without goal is left out. The parameter trials
replaces the 100 below, release names the release, or several joined by commas.
*/
WITH chosen AS (FROM any_workloads($release::VARCHAR, $workloads::VARCHAR[], $goal::DOUBLE)),
curves AS (SELECT *, 100 AS asked_trials FROM named_by_difference('chosen', $workloads::VARCHAR[])),
asked AS (FROM drawn('curves', $release::VARCHAR, NULL, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
study_rows AS (FROM study_steps('trial_rows')),
points AS (FROM steps_points('study_rows')),
bounded AS (FROM banded('points', 'trial_rows', NULL, coalesce($bands::BOOLEAN, true)))
FROM normalised('bounded');
