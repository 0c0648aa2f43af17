-- Shared logic of the figures whose points are trials or measurements: scatter plots, grids of a search space, learning
-- curves. A query lists its panels or curves in a common table expression and passes that name. release_name (several
-- joined by commas: each panel then has rows of every one), goal_value and trial_count may be NULL: then the release
-- with the most studies is drawn, and the lists' own values hold.

-- The batch size nearest to another one, by their ratio, of those that most of the releases' studies of the workloads
-- share; ties go to the smaller one.
CREATE MACRO near_batch_size(wanted_batch_size, release_name, workload_names) AS (
    SELECT batch_size
    FROM stored.study
    JOIN stored.workload USING (workload_id)
    JOIN stored.release USING (release_id)
    JOIN figure_releases(release_name, workload_names) USING (release)
    WHERE list_contains(workload_names, workload)
    GROUP BY batch_size
    ORDER BY count(*) DESC, abs(log2(batch_size / wanted_batch_size)), batch_size
    LIMIT 1
);

-- The workloads of a figure that draws any: those named; where workload_names is NULL the one with the most trials, of
-- those that search the momentum if there are such, because a panel a study of every workload would be hundreds. panel
-- is NULL where there is but one, title never.
CREATE MACRO named_or_largest(release_name, workload_names, goal_value) AS TABLE
WITH held AS (
    SELECT workload, sum(trials) AS trials
    FROM workloads
    JOIN figure_releases(release_name, workload_names) USING (release)
    GROUP BY workload
),
ranked AS (
    SELECT *, row_number() OVER (ORDER BY optimizer = 'sgd', trials DESC, workload) AS place
    FROM workload_curves(release_name, workload_names, goal_value, true)
    JOIN held USING (workload)
)
SELECT
    row_number() OVER (ORDER BY panel_order) AS panel_order,
    CASE WHEN count(*) OVER () > 1 THEN panel END AS panel,
    panel AS title,
    workload,
    metric,
    goal
FROM ranked
WHERE workload_names IS NOT NULL OR place = 1;

-- The studies behind a figure's panels or curves, a row each. The list has panel_order, workload, batch_size (NULL: every
-- one), metric, goal, perhaps goal_text and trials, and what else a figure needs, which is passed on. What a release
-- lacks has one row without study. asked_trials is NULL where neither the list nor trial_count says a number.
CREATE MACRO listed_studies(panels, release_name, goal_value, trial_count) AS TABLE
WITH listed AS (
    SELECT NULL::BIGINT AS trials, NULL::VARCHAR AS goal_text WHERE false
    UNION ALL BY NAME
    SELECT * REPLACE (coalesce(goal_value, goal)::DOUBLE AS goal) FROM query_table(panels)
),
held AS (
    SELECT release, workload, study_id, batch_size, search_space
    FROM stored.study
    JOIN stored.workload USING (workload_id)
    JOIN stored.release USING (release_id)
)
SELECT
    listed.* EXCLUDE (trials) REPLACE (
        coalesce(held.batch_size, listed.batch_size) AS batch_size,
        coalesce(goal_text, goal_text(metric, listed.goal)) AS goal_text
    ),
    coalesce(trial_count, trials)::BIGINT AS asked_trials,
    releases.release,
    release_order,
    study_id,
    search_space
FROM listed
CROSS JOIN figure_releases(release_name, (SELECT list(workload) FROM listed)) AS releases
LEFT JOIN held
    ON held.release = releases.release
    AND held.workload = listed.workload
    AND (listed.batch_size IS NULL OR held.batch_size = listed.batch_size);

-- Every COMPLETE and INFEASIBLE trial of the studies behind a figure's panels, and what became of it; trial_count NULL
-- takes all of them. The list is that of listed_studies with most_steps (the budget; NULL: none). outcome is goal
-- achieved, goal not achieved or infeasible, whatever an infeasible trial measured before it diverged; steps are those
-- to the goal; best is the trial of its study that reached the goal first, ties going to the smaller trial id.
CREATE MACRO panel_outcomes(panels, release_name, goal_value, trial_count) AS TABLE
WITH chosen AS MATERIALIZED (
    SELECT * FROM listed_studies(panels, release_name, goal_value, trial_count)
),
taken AS MATERIALIZED (
    SELECT panel_order, study_id, trial_id, status, metric, goal, metaparameters
    FROM chosen
    JOIN stored.trial USING (study_id)
    WHERE status IN ('COMPLETE', 'INFEASIBLE')
    QUALIFY asked_trials IS NULL
        OR row_number() OVER (PARTITION BY panel_order, study_id ORDER BY trial_id) <= asked_trials
),
complete_trials AS MATERIALIZED (
    SELECT DISTINCT study_id, trial_id, metric, goal
    FROM taken
    WHERE status = 'COMPLETE'
),
classed AS (
    SELECT
        panel_order,
        study_id,
        taken.trial_id,
        metaparameters,
        CASE WHEN step <= coalesce(most_steps, step) THEN step END AS steps,
        CASE
            WHEN status = 'INFEASIBLE' THEN 'infeasible'
            WHEN steps IS NOT NULL THEN 'goal achieved'
            ELSE 'goal not achieved'
        END AS outcome,
        steps IS NOT NULL
            AND row_number() OVER (PARTITION BY panel_order, study_id ORDER BY steps, taken.trial_id) = 1 AS best,
        count(*) OVER (PARTITION BY panel_order, study_id) AS trials
    FROM taken
    JOIN chosen USING (panel_order, study_id)
    LEFT JOIN first_past_goal('complete_trials') AS first
        ON first.study_id = taken.study_id
        AND first.trial_id = taken.trial_id
        AND first.metric = taken.metric
        AND first.goal = taken.goal
)
SELECT
    chosen.*,
    trial_id,
    metaparameters,
    coalesce(outcome, 'goal achieved') AS outcome,
    CASE outcome WHEN 'goal not achieved' THEN 2 WHEN 'infeasible' THEN 3 ELSE 1 END AS outcome_order,
    steps,
    coalesce(best, false) AS best,
    CASE WHEN study_id IS NOT NULL THEN coalesce(trials, 0) END AS trials
FROM chosen
LEFT JOIN classed USING (panel_order, study_id);

-- The points of a scatter plot of metaparameters, a panel a study: x is a trial's learning rate, y its 1 - momentum
-- (1 where none is searched), the series its outcome. x_low to y_high are the borders of the search space.
CREATE MACRO scatter_points(panels, release_name, goal_value, trial_count) AS TABLE
SELECT
    panel,
    outcome AS series,
    metaparameters['learning_rate'] AS x,
    CASE WHEN trial_id IS NOT NULL THEN 1 - coalesce(metaparameters['momentum'], 0) END AS y,
    panel_order,
    outcome_order AS series_order,
    'scatter' AS kind,
    release,
    workload,
    metric,
    goal,
    goal_text,
    trials,
    asked_trials,
    release_order,
    batch_size,
    most_steps,
    trial_id,
    best,
    steps,
    metaparameters['learning_rate'] AS learning_rate,
    metaparameters['momentum'] AS momentum,
    (search_space->'learning_rate'->>'min_value')::DOUBLE AS x_low,
    (search_space->'learning_rate'->>'max_value')::DOUBLE AS x_high,
    1 - (search_space->'momentum'->>'max_value')::DOUBLE AS y_low,
    1 - (search_space->'momentum'->>'min_value')::DOUBLE AS y_high
FROM panel_outcomes(panels, release_name, goal_value, trial_count)
ORDER BY panel_order, series_order, release_order, x, trial_id;

-- The points of a grid of a search space, a panel a metaparameter: x is a study's batch size, y the value of each of
-- its trials, the series the trial's outcome. The list has panel_order, panel, workload, metric, goal, metaparameter (its
-- name) and relative: whether y is divided by the highest value that the study searched, for a range that is another
-- one at every batch size. low and high are the borders of the range, scale how it was searched; of a reverse
-- logarithmic one y, low and high are 1 - the value. A metaparameter that a release has no value of has one row.
CREATE MACRO grid_points(panels, release_name, goal_value, trial_count) AS TABLE
WITH rows_of_grid AS (
    SELECT * REPLACE (coalesce(goal_value, goal)::DOUBLE AS goal) FROM query_table(panels)
),
grid_workloads AS MATERIALIZED (
    SELECT
        min(panel_order) AS panel_order,
        workload,
        NULL::INTEGER AS batch_size,
        metric,
        goal,
        NULL::BIGINT AS most_steps
    FROM rows_of_grid
    GROUP BY workload, metric, goal
),
outcomes AS MATERIALIZED (
    SELECT * FROM panel_outcomes('grid_workloads', release_name, goal_value, trial_count)
),
spaces AS (
    SELECT
        rows_of_grid.*,
        outcomes.* EXCLUDE (panel_order, workload, metric, goal),
        metaparameters[metaparameter] AS value,
        search_space->metaparameter AS space
    FROM rows_of_grid
    JOIN outcomes USING (workload, metric, goal)
),
ranges AS (
    SELECT
        *,
        coalesce((space->>'min_value')::DOUBLE, list_min((space->'feasible_points')::DOUBLE[])) AS least,
        coalesce((space->>'max_value')::DOUBLE, list_max((space->'feasible_points')::DOUBLE[])) AS most,
        CASE
            WHEN searched_scale LIKE 'LOG%' THEN 'log'
            WHEN searched_scale LIKE 'REVERSE_LOG%' THEN 'reverse_log'
            ELSE 'linear'
        END AS scale
    FROM (
        SELECT
            *,
            arg_min(space->>'scale', (release_order, batch_size)) FILTER (space IS NOT NULL)
                OVER (PARTITION BY panel_order) AS searched_scale
        FROM spaces
    )
)
SELECT
    panel,
    outcome AS series,
    CASE WHEN value IS NOT NULL THEN batch_size END AS x,
    CASE WHEN scale = 'reverse_log' THEN 1 - value WHEN relative THEN value / most ELSE value END AS y,
    panel_order,
    outcome_order AS series_order,
    'grid' AS kind,
    release,
    workload,
    metric,
    goal,
    goal_text,
    trials,
    asked_trials,
    release_order,
    trial_id,
    best,
    steps,
    metaparameter,
    value,
    CASE WHEN scale = 'reverse_log' THEN 1 - most WHEN relative THEN least / most ELSE least END AS low,
    CASE WHEN scale = 'reverse_log' THEN 1 - least WHEN relative THEN 1.0 ELSE most END AS high,
    scale,
    CASE
        WHEN scale = 'reverse_log' THEN concat('1 − ', replace(metaparameter, '_', ' '))
        ELSE concat(upper(metaparameter[1]), replace(metaparameter[2:], '_', ' '), if(relative, ' / most searched', ''))
    END AS y_label
FROM ranges
QUALIFY value IS NOT NULL OR row_number() OVER (
    PARTITION BY panel_order, release_order ORDER BY value NULLS LAST, batch_size, trial_id
) = 1
ORDER BY panel_order, series_order, release_order, x, trial_id;

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
-- count: the first asked_trials COMPLETE ones. steps are those to the goal, best tells the trial that reached it first,
-- ties going to the smaller trial id; trials counts them.
CREATE MACRO counted_trials(chosen) AS TABLE
WITH asked AS (
    SELECT DISTINCT study_id, metric, goal, asked_trials FROM query_table(chosen)
),
first_complete AS (
    SELECT study_id, trial_id, row_number() OVER (PARTITION BY study_id ORDER BY trial_id) AS place
    FROM stored.trial
    WHERE status = 'COMPLETE' AND study_id IN (SELECT study_id FROM asked)
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
