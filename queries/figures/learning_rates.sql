/*
The learning rate of the trial that reached the goal first, against batch size, one panel a workload.
The parameter workloads holds their names; NULL: every workload of the release. Each has its own goal unless the
parameter goal is given; a workload without goal is left out. The parameter trials replaces the 100 below, release names
the release, or several joined by commas.
*/
WITH curves AS (
    SELECT
        workload_order AS panel_order,
        title AS panel,
        1 AS series_order,
        model AS series,
        workload,
        metric,
        goal,
        goal_inclusive,
        100 AS asked_trials
    FROM any_workloads($release::VARCHAR, $workloads::VARCHAR[], $goal::DOUBLE)
),
asked AS (FROM drawn('curves', $release::VARCHAR, NULL, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
study_rows AS (FROM study_steps('trial_rows')),
first_points AS (FROM steps_points('study_rows')),
points AS (FROM optimal('first_points', 'learning_rate'))
FROM banded('points', 'trial_rows', 'learning_rate', coalesce($bands::BOOLEAN, true));
