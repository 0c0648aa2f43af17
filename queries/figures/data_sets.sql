/*
Relative steps to result by data set, for any workloads: one panel for those that share model, optimizer and sparsity, one
curve a data set. A workload that shares them with no other is left out, and so are subsets of a data set, and a workload of a
collection where another has its data set. For y see the macro normalised.
*/
WITH held AS (
    FROM any_workloads($release::VARCHAR, $workloads::VARCHAR[], $goal::DOUBLE)
    WHERE collection IS NULL OR collection NOT LIKE '%\_subsets' ESCAPE '\'
    QUALIFY row_number() OVER (
        PARTITION BY dataset, model, optimizer, sparsity ORDER BY collection NULLS FIRST, workload
    ) = 1
),
curves AS (
    SELECT
        min(workload_order) OVER alike AS panel_order,
        concat(model, ' with ', optimizer, if(sparsity > 0, format(', {:.0f} % sparse', 100 * sparsity), '')) AS panel,
        row_number() OVER (alike ORDER BY workload_order) AS series_order,
        if(sparsity > 0, dataset, data) AS series,
        workload,
        metric,
        goal,
        goal_inclusive,
        100 AS asked_trials
    FROM held
    WINDOW alike AS (PARTITION BY model, optimizer, sparsity)
    QUALIFY count(*) OVER alike > 1
),
asked AS (FROM drawn('curves', $release::VARCHAR, NULL, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
study_rows AS (FROM study_steps('trial_rows')),
points AS (FROM steps_points('study_rows')),
bounded AS (FROM banded('points', 'trial_rows', NULL, coalesce($bands::BOOLEAN, true)))
FROM normalised('bounded');
