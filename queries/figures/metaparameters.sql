/*
The learning rate, or 1 - momentum, of the trial that reached the goal first, against batch size, one panel a workload that is
trained with that metaparameter.
*/
WITH chosen AS (
    FROM any_workloads($release::VARCHAR, $workloads::VARCHAR[], $goal::DOUBLE)
    SEMI JOIN (FROM trials WHERE $metaparameter = 'learning_rate' OR momentum IS NOT NULL) USING (workload)
),
curves AS (SELECT *, 100 AS asked_trials FROM one_panel_each('chosen')),
asked AS (FROM drawn('curves', $release::VARCHAR, NULL, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
study_rows AS (FROM study_steps('trial_rows')),
first_points AS (FROM steps_points('study_rows')),
points AS (FROM optimal('first_points', $metaparameter))
FROM banded('points', 'trial_rows', $metaparameter, coalesce($bands::BOOLEAN, true));
