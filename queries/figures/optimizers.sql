/*
Steps to result by optimizer, for any workloads: one panel for those that share data set, model and goal, one curve an
optimizer. A workload that shares them with no other is left out.
*/
WITH curves AS (
    SELECT
        min(workload_order) OVER alike AS panel_order,
        concat(model, ' on ', data) AS panel,
        row_number() OVER (
            alike ORDER BY list_position(['sgd', 'momentum', 'nesterov_momentum'], optimizer) NULLS LAST, optimizer
        ) AS series_order,
        optimizer AS series,
        workload,
        metric,
        goal,
        goal_inclusive,
        100 AS asked_trials
    FROM any_workloads($release::VARCHAR, $workloads::VARCHAR[], $goal::DOUBLE)
    WINDOW alike AS (PARTITION BY data, model, metric, goal)
    QUALIFY count(*) OVER alike > 1
),
asked AS (FROM drawn('curves', $release::VARCHAR, NULL, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
study_rows AS (FROM study_steps('trial_rows')),
first_points AS (FROM steps_points('study_rows')),
points AS (FROM with_scaling_of_trials('first_points', 'trial_rows', $trials::BIGINT, $through::VARCHAR))
FROM banded('points', 'trial_rows', NULL, coalesce($bands::BOOLEAN, true));
