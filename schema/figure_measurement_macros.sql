-- Shared logic of the figures whose points are measurements: learning curves, readings of steps to result. They list
-- their curves and find their studies as figure_trial_macros.sql says.

-- At most most_points of each curve's points, which the common table expression named "points" holds: curve (any value
-- that is another one for each), step, value and read_off. Every k-th is kept, from the first on, k being the smallest
-- number that is enough; and the last one, and those that are read off.
CREATE MACRO thinned(points, most_points) AS TABLE
SELECT *
FROM query_table(points)
WINDOW curve_by_step AS (PARTITION BY curve ORDER BY step)
QUALIFY read_off
    OR (row_number() OVER curve_by_step - 1) % ceil(count(*) OVER (PARTITION BY curve) / most_points)::BIGINT = 0
    OR lead(step) OVER curve_by_step IS NULL;

-- Of the studies that the common table expression named "chosen" holds as listed_studies returns them, the trials that
-- count: the first asked_trials of searched_trials. steps are those to the goal, best tells the trial that reached it first,
-- ties going to the smaller trial id; trials counts them.
CREATE MACRO counted_trials(chosen) AS TABLE
WITH asked AS (
    SELECT DISTINCT study_id, metric, goal, asked_trials FROM query_table(chosen)
),
first_complete AS (
    SELECT study_id, trial_id, row_number() OVER (PARTITION BY study_id ORDER BY trial_id) AS place
    FROM searched_trials()
    WHERE study_id IN (SELECT study_id FROM asked)
),
taken_trials AS MATERIALIZED (
    SELECT study_id, trial_id, metric, goal
    FROM asked
    JOIN first_complete USING (study_id)
    WHERE place <= coalesce(asked_trials, place)
)
SELECT
    taken_trials.*,
    step AS steps,
    step IS NOT NULL AND row_number() OVER (PARTITION BY study_id, metric, goal ORDER BY step, trial_id) = 1 AS best,
    count(*) OVER (PARTITION BY study_id, metric, goal) AS trials
FROM taken_trials
LEFT JOIN first_past_goal('taken_trials') USING (study_id, trial_id, metric, goal);

-- The finite values of the metrics of a few trials, which the common table expression named "few" holds: study_id,
-- trial_id, metric. Unlike metric_values it reads all columns of the trials' row groups at once, and no other ones: where
-- trials are few, a branch a metric would spend its time on looking for rows of the metrics that nobody asked for.
CREATE MACRO finite_values(few) AS TABLE
WITH limited AS MATERIALIZED (
    SELECT DISTINCT study_id, trial_id, metric
    FROM query_table(few)
    -- More than there can be; it tells DuckDB that these are few, and so which side of the join below to keep.
    LIMIT 1_000_000
)
SELECT
    study_id,
    trial_id,
    metric,
    step,
    CASE metric
        WHEN 'train_cross_entropy_error' THEN train_cross_entropy_error
        WHEN 'train_classification_error' THEN train_classification_error
        WHEN 'train_average_precision' THEN train_average_precision
        WHEN 'val_cross_entropy_error' THEN val_cross_entropy_error
        WHEN 'val_classification_error' THEN val_classification_error
        WHEN 'val_average_precision' THEN val_average_precision
        WHEN 'test_cross_entropy_error' THEN test_cross_entropy_error
        WHEN 'test_classification_error' THEN test_classification_error
        WHEN 'test_average_precision' THEN test_average_precision
        WHEN 'batch_cross_entropy_error' THEN batch_cross_entropy_error
    END AS value
FROM stored.measurement
JOIN limited USING (study_id, trial_id)
WHERE isfinite(value);

-- The trial that stands for each study behind some curves: the one that reached the goal first; where none did, the one
-- with the best value of the goal's metric (ties: the smaller step, then the smaller trial id). The list is that of
-- listed_studies. trial_id is NULL where there is no such study or trial, steps where no trial reached the goal.
CREATE MACRO best_trials(curves, release_name, goal_value, trial_count) AS TABLE
WITH chosen AS MATERIALIZED (
    SELECT * FROM listed_studies(curves, release_name, goal_value, trial_count)
),
counted AS MATERIALIZED (
    SELECT * FROM counted_trials('chosen')
),
reached AS MATERIALIZED (
    SELECT * FROM counted WHERE best
),
unreached_trials AS MATERIALIZED (
    SELECT study_id, trial_id, metric, goal
    FROM counted
    ANTI JOIN reached USING (study_id, metric, goal)
),
nearest AS (
    SELECT
        study_id,
        metric,
        goal,
        arg_min(trial_id, (if(metric LIKE '%average_precision', -value, value), step, trial_id)) AS trial_id
    FROM finite_values('unreached_trials')
    JOIN (SELECT DISTINCT study_id, metric, goal FROM unreached_trials) USING (study_id, metric)
    GROUP BY study_id, metric, goal
),
sizes AS (
    SELECT study_id, metric, goal, count(*) AS trials FROM counted GROUP BY ALL
)
SELECT
    chosen.*,
    coalesce(reached.trial_id, nearest.trial_id) AS trial_id,
    steps,
    CASE WHEN chosen.study_id IS NOT NULL THEN coalesce(sizes.trials, 0) END AS trials
FROM chosen
LEFT JOIN sizes USING (study_id, metric, goal)
LEFT JOIN reached USING (study_id, metric, goal)
LEFT JOIN nearest USING (study_id, metric, goal);

-- A metric as an axis says it: val_classification_error -> Validation error.
CREATE MACRO metric_label(metric) AS concat(
    CASE split_part(metric, '_', 1)
        WHEN 'train' THEN 'Training '
        WHEN 'val' THEN 'Validation '
        WHEN 'test' THEN 'Test '
        WHEN 'batch' THEN 'Batch '
    END,
    CASE
        WHEN metric LIKE '%cross_entropy_error' THEN 'cross entropy'
        WHEN metric LIKE '%classification_error' THEN 'error'
        ELSE 'average precision'
    END
);

-- The points of learning curves of the best trial (see best_trials) at each batch size: for each curve of the list,
-- which is a workload, six panels: the goal's metric on the training, validation and test split, against steps and
-- against epochs (examples, where the size of the training set is not known). A series is a batch size. The goal is that
-- of its own split; read_off tells the measurement that steps to result reads. Values that are no finite numbers and
-- step 0, which a logarithmic axis has no place for, are left out, and a curve is thinned to 500 points.
CREATE MACRO learning_curve_points(curves, release_name, goal_value, trial_count) AS TABLE
WITH best AS MATERIALIZED (
    SELECT
        * EXCLUDE (metric),
        metric AS goal_metric,
        regexp_replace(metric, '^(train|val|test|batch)_', '') AS measure,
        max(examples) OVER (PARTITION BY panel_order) AS train_examples,
        dense_rank() OVER (PARTITION BY panel_order ORDER BY batch_size NULLS LAST) AS batch_order
    FROM best_trials(curves, release_name, goal_value, trial_count)
    LEFT JOIN (
        SELECT workload, max(train_examples) AS examples FROM stored.workload GROUP BY workload
    ) USING (workload)
),
splits(split_order, split) AS (
    VALUES (0, 'train'), (1, 'val'), (2, 'test')
),
axes(axis_order, axis) AS (
    VALUES (1, 'steps'), (2, 'epochs')
),
split_curves AS MATERIALIZED (
    SELECT *, concat(split, '_', measure) AS metric FROM best CROSS JOIN splits
),
measured AS (
    SELECT
        (panel_order, split_order, study_id) AS curve,
        split_curves.*,
        step,
        value,
        coalesce(metric = goal_metric AND step = steps, false) AS read_off
    FROM split_curves
    JOIN finite_values('split_curves') USING (study_id, trial_id, metric)
    WHERE step > 0 OR metric = goal_metric AND step = steps
),
points AS MATERIALIZED (
    SELECT panel_order, split_order, study_id, step, value, read_off
    FROM thinned('measured', 500)
)
SELECT
    concat_ws(
        ': ',
        panel,
        concat(
            metric_label(metric),
            ' against ',
            CASE WHEN axis = 'epochs' AND train_examples IS NULL THEN 'examples' ELSE axis END
        )
    ) AS panel,
    coalesce('Batch size ' || format('{:,}', batch_size), workload) AS series,
    CASE axis
        WHEN 'steps' THEN step
        ELSE step::DOUBLE * batch_size / coalesce(train_examples, 1)
    END AS x,
    value AS y,
    6 * (panel_order - 1) + 2 * split_order + axis_order AS panel_order,
    batch_order AS series_order,
    'curves' AS kind,
    release,
    workload,
    metric,
    CASE WHEN metric = goal_metric THEN goal END AS goal,
    goal_text,
    trials,
    asked_trials,
    release_order,
    batch_size,
    trial_id,
    step,
    steps,
    coalesce(read_off, false) AS read_off,
    CASE
        WHEN axis = 'steps' THEN 'Step'
        WHEN train_examples IS NULL THEN 'Examples'
        ELSE 'Epoch'
    END AS x_label,
    metric_label(metric) AS y_label,
    'log2' AS x_scale,
    'log10' AS y_scale
FROM split_curves
CROSS JOIN axes
LEFT JOIN points USING (panel_order, split_order, study_id)
ORDER BY 6 * (split_curves.panel_order - 1) + 2 * split_order + axis_order, series_order, release_order, x;

-- The points of the figures that show how steps to result are read off: the curves of the trials that count of one study
-- a panel, x being the step and y the value of the goal's metric; best tells the curve of the trial that reached the
-- goal first, read_off the measurement on it. The list is that of listed_studies. Values that are no finite numbers and
-- step 0 are left out, and a curve is thinned to 200 points.
CREATE MACRO reading_points(curves, release_name, goal_value, trial_count) AS TABLE
WITH chosen AS MATERIALIZED (
    SELECT * FROM listed_studies(curves, release_name, goal_value, trial_count)
),
counted AS MATERIALIZED (
    SELECT * FROM counted_trials('chosen')
),
measured AS (
    SELECT
        (study_id, trial_id, metric, goal) AS curve,
        counted.*,
        step,
        value,
        best AND step = steps AS read_off
    FROM counted
    JOIN finite_values('counted') USING (study_id, trial_id, metric)
    WHERE step > 0 OR best AND step = steps
),
points AS (
    SELECT * FROM thinned('measured', 200)
)
SELECT
    concat(panel, ', batch size ' || format('{:,}', batch_size)) AS panel,
    coalesce('Trial ' || trial_id, workload) AS series,
    step AS x,
    value AS y,
    panel_order,
    coalesce(trial_id, 0) AS series_order,
    'curves' AS kind,
    release,
    workload,
    metric,
    goal,
    goal_text,
    coalesce(trials, if(study_id IS NULL, NULL, 0)) AS trials,
    asked_trials,
    release_order,
    batch_size,
    trial_id,
    steps,
    best,
    coalesce(read_off, false) AS read_off,
    'Step' AS x_label,
    metric_label(metric) AS y_label,
    'log2' AS x_scale,
    'log10' AS y_scale
FROM chosen
LEFT JOIN points USING (study_id, metric, goal)
ORDER BY panel_order, series_order, release_order, x;

-- The points of curves of a metric that has no column of its own, of the best trial (see best_trials) behind each curve
-- of the list: x is the step, y the value. Values that are no finite numbers and step 0 are left out, and a curve is
-- thinned to 500 points. A curve without values has one row without x.
CREATE MACRO other_metric_points(curves, release_name, goal_value, trial_count, metric_name, metric_label) AS TABLE
WITH best AS MATERIALIZED (
    SELECT * FROM best_trials(curves, release_name, goal_value, trial_count)
),
few AS MATERIALIZED (
    SELECT DISTINCT study_id, trial_id FROM best WHERE trial_id IS NOT NULL LIMIT 1_000_000
),
measured AS (
    SELECT
        (study_id, trial_id) AS curve,
        study_id,
        trial_id,
        step,
        other_metrics[metric_name] AS value,
        false AS read_off
    FROM stored.measurement
    JOIN few USING (study_id, trial_id)
    WHERE step > 0 AND isfinite(other_metrics[metric_name])
),
points AS (
    SELECT * FROM thinned('measured', 500)
)
SELECT
    panel,
    series,
    step AS x,
    value AS y,
    panel_order,
    series_order,
    'curves' AS kind,
    release,
    workload,
    metric_name AS metric,
    NULL::DOUBLE AS goal,
    goal_text,
    trials,
    asked_trials,
    release_order,
    batch_size,
    trial_id,
    steps,
    false AS read_off,
    'Step' AS x_label,
    metric_label AS y_label,
    'log2' AS x_scale,
    'log10' AS y_scale
FROM best
LEFT JOIN points USING (study_id, trial_id)
ORDER BY panel_order, series_order, release_order, x;
