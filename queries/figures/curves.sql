/*
How do training, validation and test error of the best trial at each batch size develop?
Six panels a workload, without names that with the most trials (choice says so): the goal's metric on each split, against
steps and against epochs; a curve is the trial that stands for a study: of the first COMPLETE ones that which reached the goal
first or, where none did, which had the best value. A point is a measurement; read_off marks the one that steps to result
reads. A curve is thinned to some 500 points, that one always kept; step 0, for which a logarithmic axis has no room, is left
out.
*/
WITH chosen AS (FROM named_or_largest($release::VARCHAR, $workloads::VARCHAR[], $goal::DOUBLE)),
curves AS (
    SELECT
        dense_rank() OVER (ORDER BY workload_order) AS panel_order,
        if((SELECT count(*) FROM chosen) > 1, concat(title, ': '), '') AS panel,
        1 AS series_order,
        workload AS series,
        workload,
        metric,
        goal,
        goal_inclusive,
        100 AS asked_trials
    FROM chosen
),
asked AS (FROM drawn('curves', $release::VARCHAR, NULL, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
study_rows AS (FROM study_steps('trial_rows')),
best_rows AS (FROM study_best('asked')),
standing AS (
    SELECT * REPLACE (max(train_examples) OVER (PARTITION BY panel_order) AS train_examples)
    FROM standing('study_rows', 'best_rows')
    LEFT JOIN (SELECT release, workload, train_examples FROM workloads) USING (release, workload)
),
splits(split, split_order) AS (
    VALUES ('train', 0), ('val', 1), ('test', 2)
),
axes(axis, axis_order) AS (
    VALUES ('Step', 1), ('Epoch', 2)
),
split_curves AS MATERIALIZED (
    SELECT
        standing.* EXCLUDE (panel, metric, panel_order, series_order),
        metric AS goal_metric,
        regexp_replace(metric, '^[a-z]+', split) AS metric,
        CASE WHEN regexp_replace(metric, '^[a-z]+', split) = metric THEN steps END AS kept,
        if(axis = 'Epoch' AND train_examples IS NULL, 'Examples', axis) AS x_label,
        concat(panel, regexp_replace(metric, '^[a-z]+', split), ' against ', lower(x_label), if(x_label = 'Examples', '', 's'))
            AS panel,
        6 * (panel_order - 1) + 2 * split_order + axis_order AS panel_order,
        dense_rank() OVER (PARTITION BY panel_order ORDER BY batch_size NULLS LAST) AS series_order
    FROM standing
    CROSS JOIN splits
    CROSS JOIN axes
),
measured AS (FROM thinned('split_curves', 500))
SELECT
    panel,
    coalesce(format('Batch size {:,}', batch_size), workload) AS series,
    CASE x_label WHEN 'Step' THEN step ELSE step::DOUBLE * batch_size / coalesce(train_examples, 1) END AS x,
    measured.value AS y,
    panel_order,
    series_order,
    release,
    release_order,
    workload,
    batch_size,
    metric,
    goal_metric,
    goal,
    goal_inclusive,
    CASE WHEN is_held THEN trials END AS trials,
    asked_trials,
    trial_id,
    step,
    steps,
    coalesce(step = kept, false) AS read_off,
    x_label,
    subject,
    choice
FROM split_curves
LEFT JOIN measured USING (release, workload, batch_size, trial_id, metric)
CROSS JOIN subject_of('chosen', $workloads::VARCHAR[])
ORDER BY panel_order, series_order, release_order, x;
