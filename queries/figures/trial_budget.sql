/*
Steps to result against batch size, one curve a number of trials; y is the fewest steps that any of the study's first trials
took to get strictly past the goal. The parameter trials takes the place of the larger numbers of trials.
*/
WITH limited AS (
    SELECT * REPLACE (least(asked_trials, $trials::BIGINT) AS asked_trials)
    FROM curves_of($figure)
),
curves AS (
    SELECT DISTINCT
        panel_order,
        panel,
        asked_trials AS series_order,
        if(asked_trials = 1, 'first trial', concat('first ', asked_trials, ' trials')) AS series,
        workload,
        metric,
        goal,
        asked_trials
    FROM limited
),
asked AS (FROM drawn('curves', $release::VARCHAR, $goal::DOUBLE, NULL)),
trial_rows AS (FROM trial_steps('asked')),
study_rows AS (FROM study_steps('trial_rows')),
points AS (FROM steps_points('study_rows'))
FROM banded('points', 'trial_rows', NULL, coalesce($bands::BOOLEAN, false));
