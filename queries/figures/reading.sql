/*
How are steps to result read off?
A panel a workload, without names that with the most trials (choice says so); a curve is one of the first COMPLETE trials of
the study whose batch size is nearest to 256, a point a measurement: x the step, y the value of the goal's metric. The first
point strictly past the goal on any curve (ties: the smaller trial id) is the one that is read: read_off; best tells its
curve. A curve is thinned to some 200 points, the one that is read off always kept; step 0 is left out.
*/
WITH chosen AS (FROM named_or_largest($release::VARCHAR, $workloads::VARCHAR[], $goal::DOUBLE)),
curves AS (
    SELECT
        row_number() OVER (ORDER BY workload_order) AS panel_order,
        title AS panel,
        1 AS series_order,
        workload AS series,
        workload,
        near_batch_size(256, $release::VARCHAR, [workload]) AS batch_size,
        metric,
        goal,
        goal_inclusive,
        100 AS asked_trials
    FROM chosen
),
asked AS (FROM drawn('curves', $release::VARCHAR, NULL, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
followed AS MATERIALIZED (
    SELECT
        *,
        count(trial_id) OVER study AS trials,
        steps IS NOT NULL AND row_number() OVER (study ORDER BY steps, trial_id) = 1 AS best,
        CASE WHEN best THEN steps END AS kept
    FROM trial_rows
    WHERE ordinal <= asked_trials OR trial_id IS NULL
    WINDOW study AS (PARTITION BY panel_order, release_order)
),
measured AS (FROM thinned('followed', 200))
SELECT
    concat(panel, format(', batch size {:,}', batch_size)) AS panel,
    coalesce('Trial ' || trial_id, workload) AS series,
    step AS x,
    measured.value AS y,
    panel_order,
    coalesce(trial_id, 0) AS series_order,
    release,
    release_order,
    workload,
    batch_size,
    metric,
    goal,
    goal_inclusive,
    CASE WHEN is_held THEN trials END AS trials,
    asked_trials,
    trial_id,
    steps,
    best,
    coalesce(step = kept, false) AS read_off,
    choice
FROM followed
LEFT JOIN measured USING (release, workload, batch_size, trial_id, metric)
CROSS JOIN subject_of('chosen', $workloads::VARCHAR[])
ORDER BY panel_order, series_order, release_order, x;
