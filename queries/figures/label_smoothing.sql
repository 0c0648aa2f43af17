/*
Does label smoothing help more at larger batch sizes? One curve a label smoothing, of the first trials of each study; y is the
best validation error in the first panel, the fewest steps to get strictly past the goal in the second.
*/
WITH curves AS (
    SELECT panel_order, panel, series_order, series, label_smoothing, workload, metric, goal, asked_trials
    FROM curves_of($figure)
),
asked AS (FROM drawn('curves', $release::VARCHAR, $goal::DOUBLE, $trials::BIGINT)),
-- A trial of another label smoothing is one of the first that count, and reaches nothing.
trial_rows AS (
    SELECT * REPLACE (CASE WHEN metaparameters['label_smoothing'] = label_smoothing THEN steps END AS steps)
    FROM trial_steps('asked')
),
study_rows AS (FROM study_steps('trial_rows')),
studies_asked AS (
    SELECT DISTINCT release, workload, batch_size, metric, asked_trials FROM asked
),
best AS (
    SELECT
        release,
        workload,
        batch_size,
        metaparameters['label_smoothing'] AS label_smoothing,
        arg_min(
            {'value': value, 'step': step, 'trial_id': trial_id, 'learning_rate': learning_rate, 'momentum': momentum},
            (value, step, trial_id)
        ) AS best
    FROM evaluations_of('studies_asked')
    JOIN trials USING (release, workload, batch_size, trial_id)
    WHERE ordinal <= asked_trials AND isfinite(value)
    GROUP BY ALL
),
points AS (FROM steps_points('study_rows'))
SELECT *, 'steps_to_result' AS kind
FROM points
UNION ALL BY NAME
SELECT
    points.* EXCLUDE (goal, steps, perfect) REPLACE (
        1 AS panel_order,
        'Best validation error' AS panel,
        best.value AS y,
        best.trial_id AS trial_id,
        best.learning_rate AS learning_rate,
        best.momentum AS momentum
    ),
    best.step AS step,
    'best' AS kind
FROM points
LEFT JOIN best
    ON (best.release, best.workload, best.batch_size, best.label_smoothing)
    = (points.release, points.workload, points.batch_size, points.label_smoothing)
ORDER BY panel_order, series_order, release_order, x;
