-- The views and macros of dbtool for DuckDB: run `duckdb -init dbtool.sql` in this folder.
CREATE SCHEMA stored;
CREATE TABLE stored.releases AS
SELECT
    0 AS position,
    'measured' AS release,
    'Steps to result against batch size, measured with dbtool' AS title,
    'CC-BY-4.0' AS licence,
    NULL::VARCHAR AS citation;
CREATE TEMP VIEW incoming AS SELECT 'measured' AS release, * FROM 'workloads.parquet';
CREATE TABLE stored.workloads AS FROM incoming;

DROP VIEW incoming;
CREATE TEMP VIEW incoming AS SELECT 'measured' AS release, * FROM 'studies.parquet';
CREATE TABLE stored.studies AS FROM incoming;

DROP VIEW incoming;
CREATE TEMP VIEW incoming AS SELECT 'measured' AS release, * FROM 'trials.parquet';
-- ordinal numbers the trials of a study that count, in the order of their ids: COMPLETE ones and, of a study that was
-- searched in lockstep, also those that were dropped, since they were searched like the others and could not have won.
CREATE TABLE stored.trials AS
SELECT
    incoming.*,
    CASE WHEN counts THEN
        count(*) FILTER (counts) OVER (PARTITION BY release, workload, batch_size ORDER BY trial_id)
    END AS ordinal
FROM (
    SELECT *, status = 'COMPLETE' OR status = 'INCOMPLETE' AND search IS NOT NULL AS counts
    FROM incoming
    JOIN (SELECT release, workload, batch_size, search FROM stored.studies) USING (release, workload, batch_size)
) AS incoming;

DROP VIEW incoming;
CREATE VIEW stored.measurements AS
SELECT 'measured' AS release, *
FROM read_parquet(
    'measurements/**/*.parquet',
    hive_partitioning = true,
    hive_types = {'workload': VARCHAR, 'batch_size': INTEGER}
);
-- What people query. The names of these views and their columns are a promise.
--
-- They stand on five relations, whatever the releases lie in: stored.releases, workloads, studies and trials, which are
-- the index files of each release with its name before them, and stored.measurements, which are its shards.

CREATE VIEW releases AS
SELECT
    release,
    title,
    licence,
    count(workload) AS workloads,
    coalesce(sum(studies), 0)::BIGINT AS studies,
    coalesce(sum(trials), 0)::BIGINT AS trials,
    coalesce(sum(measurements), 0)::BIGINT AS measurements,
    citation
FROM stored.releases
LEFT JOIN stored.workloads USING (release)
GROUP BY position, release, title, licence, citation
ORDER BY position;

CREATE VIEW workloads AS
SELECT
    release,
    workload,
    collection,
    dataset,
    model,
    optimizer,
    sparsity,
    metric,
    goal,
    maximize,
    goal_inclusive,
    train_examples,
    studies,
    trials,
    measurements,
    definition::JSON AS definition
FROM stored.workloads;

CREATE VIEW studies AS
SELECT
    release,
    workload,
    batch_size,
    train_steps,
    early_stopping,
    search_space::JSON AS search_space,
    complete,
    incomplete,
    infeasible,
    measurements,
    seed,
    search::JSON AS search,
    -- Whether it ended when enough of its trials were past the workload's goal: of what comes later, other goals, other
    -- metrics and the best values, it says nothing.
    coalesce(train_steps < (search::JSON->>'most_steps')::BIGINT, false) AS stopped
FROM stored.studies;

CREATE VIEW trials AS
SELECT
    release,
    workload,
    batch_size,
    trial_id,
    status,
    steps,
    learning_rate,
    momentum,
    end_learning_rate_factor,
    learning_rate_decay_steps,
    label_smoothing,
    try_cast(metaparameters::JSON AS MAP(VARCHAR, DOUBLE)) AS metaparameters,
    seed,
    measurements,
    ordinal,
    name,
    shard,
    producer::JSON AS producer
FROM stored.trials;

CREATE VIEW measurements AS
SELECT
    release,
    workload,
    dataset,
    model,
    optimizer,
    batch_size,
    trial_id,
    status,
    step,
    train_cross_entropy_error,
    train_classification_error,
    val_cross_entropy_error,
    val_classification_error,
    test_cross_entropy_error,
    test_classification_error,
    train_average_precision,
    val_average_precision,
    test_average_precision,
    batch_cross_entropy_error,
    try_cast(other_metrics::JSON AS MAP(VARCHAR, DOUBLE)) AS other_metrics
FROM stored.measurements;

-- The metrics in long form, a row a value, for queries that take the metric as a value. Batch losses are 32-bit numbers;
-- here they are the decimals that they were written as, so that they compare with a goal like all others.
CREATE VIEW evaluations AS
SELECT release, workload, batch_size, trial_id, status, step, 'train_cross_entropy_error' AS metric, train_cross_entropy_error AS value
FROM stored.measurements WHERE train_cross_entropy_error IS NOT NULL
UNION ALL
SELECT release, workload, batch_size, trial_id, status, step, 'train_classification_error', train_classification_error
FROM stored.measurements WHERE train_classification_error IS NOT NULL
UNION ALL
SELECT release, workload, batch_size, trial_id, status, step, 'train_average_precision', train_average_precision
FROM stored.measurements WHERE train_average_precision IS NOT NULL
UNION ALL
SELECT release, workload, batch_size, trial_id, status, step, 'val_cross_entropy_error', val_cross_entropy_error
FROM stored.measurements WHERE val_cross_entropy_error IS NOT NULL
UNION ALL
SELECT release, workload, batch_size, trial_id, status, step, 'val_classification_error', val_classification_error
FROM stored.measurements WHERE val_classification_error IS NOT NULL
UNION ALL
SELECT release, workload, batch_size, trial_id, status, step, 'val_average_precision', val_average_precision
FROM stored.measurements WHERE val_average_precision IS NOT NULL
UNION ALL
SELECT release, workload, batch_size, trial_id, status, step, 'test_cross_entropy_error', test_cross_entropy_error
FROM stored.measurements WHERE test_cross_entropy_error IS NOT NULL
UNION ALL
SELECT release, workload, batch_size, trial_id, status, step, 'test_classification_error', test_classification_error
FROM stored.measurements WHERE test_classification_error IS NOT NULL
UNION ALL
SELECT release, workload, batch_size, trial_id, status, step, 'test_average_precision', test_average_precision
FROM stored.measurements WHERE test_average_precision IS NOT NULL
UNION ALL
SELECT release, workload, batch_size, trial_id, status, step, 'batch_cross_entropy_error', batch_cross_entropy_error::VARCHAR::DOUBLE
FROM stored.measurements WHERE batch_cross_entropy_error IS NOT NULL;

-- The rules that queries share. Macros that return rows take the name of a table or common table expression as text and pass
-- its columns on, so that a query is a chain of them; see queries/.

-- Whether higher values of a metric are better; of all but average precisions lower ones are.
CREATE MACRO is_maximized(metric) AS metric LIKE '%average_precision';

-- Whether a value is past a goal: strictly or, where the goal is inclusive, also equal to it. NaN is past no goal.
CREATE MACRO reached(value, goal, maximize, inclusive) AS
    (if(maximize, value > goal AND value < 'infinity', value < goal) OR inclusive AND value = goal);

-- A number that is lower the better a value is.
CREATE MACRO cost(value, maximize) AS if(maximize, -value, value);

-- Whether a name is one of some names or patterns such as 'mnist/*', joined by commas; NULL means any.
CREATE MACRO named_in(name, names) AS
    names IS NULL OR list_bool_or(list_transform(string_split(names, ','), lambda pattern: name GLOB trim(pattern)));

-- Where a value lies in its range of the search space, from 0 at the lower border to 1 at the upper one, on the scale that
-- was searched; NULL where the range is a list of points or one value wide.
CREATE MACRO position_in_range(value, space) AS CASE
    WHEN (space->>'min_value')::DOUBLE IS NULL OR (space->>'max_value')::DOUBLE <= (space->>'min_value')::DOUBLE THEN NULL
    WHEN (space->>'scale') LIKE 'LOG%' THEN
        ln(value / (space->>'min_value')::DOUBLE) / ln((space->>'max_value')::DOUBLE / (space->>'min_value')::DOUBLE)
    WHEN (space->>'scale') LIKE 'REVERSE_LOG%' THEN
        ln((1 - value) / (1 - (space->>'min_value')::DOUBLE))
        / ln((1 - (space->>'max_value')::DOUBLE) / (1 - (space->>'min_value')::DOUBLE))
    ELSE (value - (space->>'min_value')::DOUBLE) / ((space->>'max_value')::DOUBLE - (space->>'min_value')::DOUBLE)
END;

-- Whether a value lies within a twentieth of a border of its range, which a wider search might beat.
CREATE MACRO at_border(value, space) AS coalesce(position_in_range(value, space) NOT BETWEEN 0.05 AND 0.95, false);

-- Whether a metric is one of the columns of the validation split.
CREATE MACRO of_validation(metric) AS
    metric IN ('val_cross_entropy_error', 'val_classification_error', 'val_average_precision');

-- Of the studies that are asked for a metric the values of its column; asked has release, workload, batch_size and metric, and
-- what is asked of other metrics is left out. The last condition says nothing new: it lets DuckDB leave the files of other
-- workloads unopened, all of them where nothing is asked but the empty name, which no workload has. The limits, which
-- nothing comes near, tell it that what is asked is little.
CREATE MACRO values_of(asked, column_name) AS TABLE
SELECT asked.*, trial_id, status, step, COLUMNS(lambda name: name = column_name) AS value
FROM measurements
JOIN (FROM query_table(asked) WHERE metric = column_name LIMIT 3_000_000) AS asked USING (release, workload, batch_size)
WHERE workload IN (
    SELECT DISTINCT workload FROM query_table(asked) WHERE metric = column_name UNION ALL SELECT '' LIMIT 100_000
);

-- The measurements of studies as values of a metric: those of the view evaluations, of the studies and metrics that are
-- asked for and of no others. Batch losses are 32-bit numbers: here they are the decimals that they were written as, so that
-- they compare with a goal like all others. Most questions are about the validation split, of whose metrics only the column
-- that is asked for is read.
CREATE MACRO evaluations_of(asked) AS TABLE
FROM values_of(asked, 'val_classification_error')
UNION ALL FROM values_of(asked, 'val_cross_entropy_error')
UNION ALL FROM values_of(asked, 'val_average_precision')
UNION ALL
SELECT
    asked.*,
    trial_id,
    status,
    step,
    CASE metric
        WHEN 'train_cross_entropy_error' THEN train_cross_entropy_error
        WHEN 'train_classification_error' THEN train_classification_error
        WHEN 'train_average_precision' THEN train_average_precision
        WHEN 'test_cross_entropy_error' THEN test_cross_entropy_error
        WHEN 'test_classification_error' THEN test_classification_error
        WHEN 'test_average_precision' THEN test_average_precision
        WHEN 'batch_cross_entropy_error' THEN batch_cross_entropy_error::VARCHAR::DOUBLE
        ELSE other_metrics[metric]
    END AS value
FROM measurements
JOIN (FROM query_table(asked) WHERE NOT of_validation(metric) LIMIT 3_000_000) AS asked USING (release, workload, batch_size)
WHERE workload IN (
    SELECT DISTINCT workload FROM query_table(asked) WHERE NOT of_validation(metric) UNION ALL SELECT '' LIMIT 100_000
);

-- The steps that trials took to a goal, a row for each trial that counts (ordinal is its number) or is INFEASIBLE. asked
-- has release, workload, batch_size, metric, goal, goal_inclusive and asked_trials (see study_steps; of none nothing is read).
-- steps and value are those of the first measurement past the goal: NULL where there is none, as for every INFEASIBLE trial.
-- What is asked of a study without trials has one row without trial.
CREATE MACRO trial_steps(asked) AS TABLE
WITH goals AS (
    SELECT DISTINCT release, workload, batch_size, metric, goal, goal_inclusive, is_maximized(metric) AS maximize
    FROM query_table(asked)
    WHERE coalesce(asked_trials, 1) > 0
),
crossings AS (
    SELECT
        release,
        workload,
        batch_size,
        trial_id,
        metric,
        goal,
        goal_inclusive,
        min(step) AS steps,
        arg_min(value, step) AS value
    FROM evaluations_of('goals')
    WHERE status <> 'INFEASIBLE' AND reached(value, goal, maximize, goal_inclusive)
    GROUP BY ALL
),
ended AS (
    SELECT
        release, workload, batch_size, trial_id, status, ordinal, steps AS trained_steps, learning_rate, momentum, metaparameters
    FROM trials
    WHERE ordinal IS NOT NULL OR status = 'INFEASIBLE'
)
SELECT
    asked.*,
    trial_id,
    status,
    ordinal,
    trained_steps,
    learning_rate,
    momentum,
    metaparameters,
    crossings.steps AS steps,
    crossings.value AS value
FROM query_table(asked) AS asked
LEFT JOIN ended USING (release, workload, batch_size)
LEFT JOIN crossings USING (release, workload, batch_size, trial_id, metric, goal, goal_inclusive);

-- Steps to result: of the rows of trial_steps those of the trials that were first to the goal, a row for each row of what
-- was asked. Of each study asked_trials count (NULL: all that do), the first by their numbers; ties in steps go to the
-- smaller trial_id. Where none of them reached the goal, steps and all about the trial are NULL.
CREATE MACRO study_steps(trial_rows) AS TABLE
SELECT * EXCLUDE (first), first.*
FROM (
    SELECT
        * EXCLUDE (trial_id, status, ordinal, trained_steps, learning_rate, momentum, metaparameters, steps, value),
        count(*) FILTER (ordinal <= coalesce(asked_trials, ordinal)) AS trials,
        arg_min(
            {
                'trial_id': trial_id,
                'learning_rate': learning_rate,
                'momentum': momentum,
                'metaparameters': metaparameters,
                'steps': steps,
                'value': value
            },
            (steps, trial_id)
        ) FILTER (ordinal <= coalesce(asked_trials, ordinal) AND steps IS NOT NULL) AS first
    FROM query_table(trial_rows)
    GROUP BY ALL
);

-- The best value of a metric within a budget: a row for each row of what is asked, which has release, workload, batch_size,
-- metric, asked_trials, most_steps and most_examples (steps times batch size); of the last three each may be NULL. Trials
-- count as in study_steps; ties go to the smaller step, then to the smaller trial_id. value, step and all about the trial
-- are NULL where there is none.
CREATE MACRO study_best(asked) AS TABLE
WITH questions AS MATERIALIZED (
    SELECT *, is_maximized(metric) AS maximize, coalesce(asked_trials, 1_000_000_000) AS first_trials
    FROM query_table(asked)
),
studies_asked AS (
    SELECT DISTINCT release, workload, batch_size, metric, maximize, first_trials
    FROM questions
    WHERE first_trials > 0
),
counts AS (
    SELECT release, workload, batch_size, first_trials, count(*) FILTER (ordinal <= first_trials) AS trials
    FROM (SELECT DISTINCT release, workload, batch_size, first_trials FROM questions)
    JOIN trials USING (release, workload, batch_size)
    GROUP BY ALL
),
-- First the best at each step: then each budget has few rows to look through.
best_at_step AS (
    SELECT
        release,
        workload,
        batch_size,
        metric,
        first_trials,
        step,
        arg_min(
            {'value': value, 'step': step, 'trial_id': trial_id, 'cost': cost(value, maximize)},
            (cost(value, maximize), trial_id)
        ) AS best
    FROM evaluations_of('studies_asked')
    JOIN trials USING (release, workload, batch_size, trial_id)
    WHERE ordinal <= first_trials AND isfinite(value)
    GROUP BY ALL
),
found AS (
    SELECT questions.*, arg_min(best, (best.cost, step, best.trial_id)) FILTER (
        step <= coalesce(most_steps, step) AND step * batch_size <= coalesce(most_examples, step * batch_size)
    ) AS best
    FROM questions
    LEFT JOIN best_at_step USING (release, workload, batch_size, metric, first_trials)
    GROUP BY ALL
)
SELECT
    found.* EXCLUDE (maximize, first_trials, best, trial_id),
    best.value AS value,
    best.step AS step,
    trial_id,
    learning_rate,
    momentum,
    metaparameters,
    coalesce(counts.trials, 0) AS trials
FROM (SELECT *, best.trial_id AS trial_id FROM found) AS found
LEFT JOIN counts USING (release, workload, batch_size, first_trials)
LEFT JOIN (SELECT release, workload, batch_size, trial_id, learning_rate, momentum, metaparameters FROM trials) AS trial
    USING (release, workload, batch_size, trial_id);

-- The finite values of a metric along trials, of each trial at most most_points: every k-th measurement, from the first on,
-- k being the smallest number that is enough; and the last one, and the one at the step kept. chosen has release, workload,
-- batch_size, trial_id, metric and kept. Step 0, which a logarithmic axis has no room for, is left out unless it is kept.
CREATE MACRO thinned(chosen, most_points) AS TABLE
WITH asked AS MATERIALIZED (
    SELECT DISTINCT release, workload, batch_size, metric, trial_id AS chosen_trial, kept FROM query_table(chosen)
)
SELECT release, workload, batch_size, trial_id, metric, step, value
FROM evaluations_of('asked')
WHERE trial_id = chosen_trial AND isfinite(value) AND (step > 0 OR step = kept)
WINDOW
    by_step AS (PARTITION BY release, workload, batch_size, trial_id, metric ORDER BY step),
    whole AS (PARTITION BY release, workload, batch_size, trial_id, metric)
QUALIFY (row_number() OVER by_step - 1) % ceil(count(*) OVER whole / most_points)::BIGINT = 0
    OR step = kept
    OR lead(step) OVER by_step IS NULL;

-- The two questions that are asked most, for any release and workload (a name or pattern; see named_in), each with NULL for
-- any: at a goal or for a metric (NULL: each workload's own) of the first trial_count trials of each study (NULL: of all).

-- Steps to result; see study_steps. stopped_at are the steps after which a study ended at its own goal, so that NULL steps
-- say nothing.
CREATE MACRO steps_to_result(release_name, workload_name, metric_name, goal_value, trial_count) AS TABLE
WITH asked AS (
    SELECT
        release,
        workload,
        batch_size,
        coalesce(metric_name, metric) AS metric,
        coalesce(goal_value, goal)::DOUBLE AS goal,
        goal_inclusive,
        trial_count AS asked_trials,
        search_space,
        CASE WHEN stopped THEN train_steps END AS stopped_at
    FROM workloads
    JOIN studies USING (release, workload)
    WHERE (release_name IS NULL OR release = release_name) AND named_in(workload, workload_name)
),
trial_rows AS (
    FROM trial_steps('asked')
)
SELECT
    release, workload, batch_size, metric, goal, steps, trial_id, value, trials, metaparameters, search_space, stopped_at
FROM study_steps('trial_rows');

-- The best measurement within a budget of steps and of examples, either of which may be NULL; see study_best. A study whose
-- train_steps do not reach the budget has no row and, without a budget, none that ended at its goal.
CREATE MACRO best_measurements(
    release_name, workload_name, metric_name, most_steps, most_examples, trial_count
) AS TABLE
WITH asked AS (
    SELECT
        release,
        workload,
        batch_size,
        coalesce(metric_name, metric) AS metric,
        trial_count AS asked_trials,
        most_steps AS most_steps,
        most_examples AS most_examples
    FROM workloads
    JOIN studies USING (release, workload)
    WHERE (release_name IS NULL OR release = release_name)
    AND named_in(workload, workload_name)
    AND train_steps >= coalesce(most_steps, 0)
    AND train_steps * batch_size >= coalesce(most_examples, 0)
    AND NOT (stopped AND most_steps IS NULL AND most_examples IS NULL)
)
SELECT release, workload, batch_size, metric, value, step, trial_id, trials, metaparameters
FROM study_best('asked');

-- What the figures' queries share; see queries/figures. A figure lists its curves (or its panels, or its readings) in a
-- common table expression: panel_order, panel, series_order, series, workload, metric and, where it needs them, batch_size
-- (NULL: every one), goal, goal_inclusive, asked_trials (NULL: all trials count), normalise_at, most_steps, most_examples and
-- whatever it wants to find again. `drawn` asks each of a release's studies for them, the macros of macros.sql answer, and
-- those below make points.

-- The releases that a figure is drawn from, as a list: those named, which commas part, or else the one with the most studies
-- of some workloads (NULL: of any).
CREATE MACRO drawn_releases(release_name, workload_names) AS coalesce(
    list_transform(string_split(release_name, ','), lambda name: trim(name)),
    [(
        SELECT release
        FROM studies
        JOIN stored.releases USING (release)
        WHERE workload_names IS NULL OR list_contains(workload_names, workload)
        GROUP BY release
        ORDER BY count(*) DESC, min(position)
        LIMIT 1
    )]
);

-- The curves of a figure in each release that it is drawn from and at each batch size, a row a study. release_name (see
-- drawn_releases), goal_value and trial_count are the figure's parameters: NULL leaves what the list says. A curve whose
-- workload, at the batch size it names, is not in a release has one row there, which is not held.
CREATE MACRO drawn(curves, release_name, goal_value, trial_count) AS TABLE
WITH listed AS (
    SELECT
        NULL::INTEGER AS batch_size,
        NULL::DOUBLE AS goal,
        NULL::BOOLEAN AS goal_inclusive,
        NULL::BIGINT AS asked_trials,
        NULL::BIGINT AS most_steps,
        NULL::DOUBLE AS most_examples
    WHERE false
    UNION ALL BY NAME
    FROM query_table(curves)
),
drawn AS (
    SELECT unnest(names) AS release, generate_subscripts(names, 1) AS release_order
    FROM (SELECT drawn_releases(release_name, (SELECT list(workload) FROM listed)) AS names)
)
SELECT
    listed.* REPLACE (
        coalesce(studies.batch_size, listed.batch_size) AS batch_size,
        coalesce(goal_value, goal)::DOUBLE AS goal,
        coalesce(goal_inclusive, false) AS goal_inclusive,
        coalesce(trial_count, asked_trials)::BIGINT AS asked_trials
    ),
    drawn.release,
    release_order,
    train_steps,
    stopped,
    studies.search_space,
    studies.batch_size IS NOT NULL AS is_held
FROM listed
CROSS JOIN drawn
LEFT JOIN studies
    ON studies.release = drawn.release
    AND studies.workload = listed.workload
    AND studies.batch_size = coalesce(listed.batch_size, studies.batch_size);

-- Steps to result against batch size, from rows of study_steps. A study that ended before a trial was past this goal, of
-- which nobody knows the steps, has no x. perfect is the line of perfect scaling through the curve's smallest batch size
-- that reached the goal: twice the batch, half the steps.
CREATE MACRO steps_points(study_rows) AS TABLE
SELECT
    panel,
    series,
    CASE WHEN NOT (stopped AND steps IS NULL) THEN batch_size END AS x,
    steps AS y,
    arg_min(steps * batch_size, batch_size) FILTER (steps IS NOT NULL) OVER curve / x AS perfect,
    * EXCLUDE (
        panel, series, trials, metaparameters, train_steps, stopped, search_space, is_held, most_steps, most_examples
    ),
    CASE WHEN is_held THEN trials END AS trials
FROM query_table(study_rows)
WINDOW curve AS (PARTITION BY panel_order, series_order, release_order)
ORDER BY panel_order, series_order, release_order, x;

-- The best value within a budget against batch size, from rows of study_best. A study whose train_steps do not reach the
-- budget has no point and, where there is no budget, none that ended at its goal.
CREATE MACRO best_points(study_rows) AS TABLE
SELECT
    panel,
    series,
    CASE WHEN reaches THEN batch_size END AS x,
    CASE WHEN reaches THEN value END AS y,
    * EXCLUDE (panel, series, trials, metaparameters, train_steps, stopped, is_held, search_space, reaches),
    CASE WHEN reaches THEN trials END AS trials
FROM (
    SELECT
        *,
        is_held AND CASE
            WHEN most_steps IS NULL AND most_examples IS NULL THEN NOT stopped
            ELSE train_steps >= coalesce(most_steps, most_examples / batch_size)
        END AS reaches
    FROM query_table(study_rows)
)
WINDOW best_curve AS (PARTITION BY panel_order, series_order, release_order)
QUALIFY reaches OR NOT bool_or(reaches) OVER best_curve AND row_number() OVER (best_curve ORDER BY batch_size) = 1
ORDER BY panel_order, series_order, release_order, x;

-- The points of steps_points divided: y is the steps divided by the curve's own at the batch size normalise_at, NULL where
-- either is missing or the latter is 0; perfect is 1 there. Where the list has no normalise_at, or more of the panel's
-- curves reached the goal at another batch size, it is that at which most of them did; of several the named one, else that
-- of the curves with most points, else the smallest.
CREATE MACRO normalised(points) AS TABLE
WITH found AS MATERIALIZED (
    SELECT
        *,
        steps > 0 AS divides,
        count(*) FILTER (divides) OVER (PARTITION BY panel_order, series_order, release_order) AS points_of_curve
    FROM (SELECT NULL::BIGINT AS normalise_at WHERE false UNION ALL BY NAME FROM query_table(points))
),
sizes AS (
    SELECT
        panel_order,
        x,
        count(*) AS curves_there,
        sum(points_of_curve) AS points_there,
        coalesce(x = any_value(normalise_at), false) AS is_named
    FROM found
    WHERE divides
    GROUP BY panel_order, x
),
shared AS (
    SELECT panel_order, arg_max(x, (curves_there, is_named, points_there, -x)) AS shared_at
    FROM sizes
    GROUP BY panel_order
)
SELECT * EXCLUDE (divides, points_of_curve, shared_at) REPLACE (
    steps / max(steps) FILTER (x = coalesce(shared_at, normalise_at) AND divides) OVER divided_curve AS y,
    coalesce(shared_at, normalise_at) AS normalise_at,
    coalesce(shared_at, normalise_at) / x AS perfect
)
FROM found
LEFT JOIN shared USING (panel_order)
WINDOW divided_curve AS (PARTITION BY panel_order, series_order, release_order)
ORDER BY panel_order, series_order, release_order, x;

-- The points of steps_points as optimal metaparameters, of the trial that reached the goal first: y is its learning_rate,
-- its effective_learning_rate (learning rate / (1 - momentum)), or 1 - momentum, as metaparameter_name says. linear and
-- square_root are the two scaling rules of learning rates through the curve's first point. low and high are the searched
-- range of y; at_border tells a trial near a border of it, where y is of two metaparameters near one of either's.
CREATE MACRO optimal(points, metaparameter_name) AS TABLE
WITH valued AS (
    SELECT
        * REPLACE (
            CASE metaparameter_name
                WHEN 'learning_rate' THEN learning_rate
                WHEN 'effective_learning_rate' THEN learning_rate / nullif(1 - coalesce(momentum, 0), 0)
                WHEN 'momentum' THEN 1 - momentum
            END AS y
        ),
        CASE metaparameter_name
            WHEN 'learning_rate' THEN (search_space->'learning_rate'->>'min_value')::DOUBLE
            WHEN 'momentum' THEN 1 - (search_space->'momentum'->>'max_value')::DOUBLE
        END AS low,
        CASE metaparameter_name
            WHEN 'learning_rate' THEN (search_space->'learning_rate'->>'max_value')::DOUBLE
            WHEN 'momentum' THEN 1 - (search_space->'momentum'->>'min_value')::DOUBLE
        END AS high,
        metaparameter_name <> 'momentum' AND at_border(learning_rate, search_space->'learning_rate')
            OR metaparameter_name <> 'learning_rate' AND at_border(momentum, search_space->'momentum') AS at_border
    FROM query_table(points)
    LEFT JOIN (SELECT release, workload, batch_size, search_space FROM studies) USING (release, workload, batch_size)
)
SELECT * EXCLUDE (first), first.y * x / first.x AS linear, first.y * sqrt(x / first.x) AS square_root
FROM (
    SELECT
        * EXCLUDE (search_space, perfect),
        arg_min({'x': x, 'y': y}, x) FILTER (y IS NOT NULL AND metaparameter_name <> 'momentum')
            OVER (PARTITION BY panel_order, series_order, release_order) AS first
    FROM valued
)
ORDER BY panel_order, series_order, release_order, x;

-- What became of every trial that counts, and every INFEASIBLE one, from rows of trial_steps; asked_trials takes so many of
-- all of these. outcome is goal achieved (within most_steps), goal not achieved or infeasible, whatever an infeasible trial
-- measured before it diverged; best is the trial of its study that reached the goal first, ties going to the smaller
-- trial_id; longest_trial are the steps of the study's longest trial.
CREATE MACRO outcomes(trial_rows) AS TABLE
WITH taken AS (
    SELECT * EXCLUDE (value) REPLACE (CASE WHEN steps <= coalesce(most_steps, steps) THEN steps END AS steps)
    FROM query_table(trial_rows)
    QUALIFY row_number() OVER (PARTITION BY panel_order, release_order, batch_size ORDER BY trial_id)
        <= greatest(coalesce(asked_trials, 1_000_000_000), 1)
)
SELECT
    *,
    CASE
        WHEN status = 'INFEASIBLE' THEN 'infeasible'
        WHEN steps IS NULL AND trial_id IS NOT NULL THEN 'goal not achieved'
        ELSE 'goal achieved'
    END AS outcome,
    list_position(['goal achieved', 'goal not achieved', 'infeasible'], outcome) AS outcome_order,
    -- The authors' notebook looks for the best among INFEASIBLE trials, too; here it is the trial of the steps to result.
    steps IS NOT NULL AND row_number() OVER (study ORDER BY steps, trial_id) = 1 AS best,
    max(trained_steps) OVER study AS longest_trial,
    CASE WHEN is_held THEN count(trial_id) OVER study END AS trials
FROM taken
WINDOW study AS (PARTITION BY panel_order, release_order, batch_size);

-- The rows of outcomes as a scatter plot of metaparameters, a panel a study: x is a trial's learning rate, y its 1 - momentum
-- (1 where none is searched), the series its outcome. x_low to y_high are the borders of the search space. most_steps is the
-- budget, or the steps of the study's longest trial where that had fewer.
CREATE MACRO scattered(outcome_rows) AS TABLE
SELECT
    panel,
    outcome AS series,
    learning_rate AS x,
    CASE WHEN trial_id IS NOT NULL THEN 1 - coalesce(momentum, 0) END AS y,
    panel_order,
    outcome_order AS series_order,
    release,
    release_order,
    workload,
    batch_size,
    metric,
    goal,
    goal_inclusive,
    CASE WHEN longest_trial < most_steps THEN longest_trial ELSE most_steps END AS most_steps,
    trials,
    asked_trials,
    trial_id,
    steps,
    best,
    learning_rate,
    momentum,
    (search_space->'learning_rate'->>'min_value')::DOUBLE AS x_low,
    (search_space->'learning_rate'->>'max_value')::DOUBLE AS x_high,
    1 - (search_space->'momentum'->>'max_value')::DOUBLE AS y_low,
    1 - (search_space->'momentum'->>'min_value')::DOUBLE AS y_high
FROM query_table(outcome_rows)
ORDER BY panel_order, series_order, release_order, x, trial_id;

-- The rows of outcomes as a grid of a search space, a panel a metaparameter: x is a study's batch size, y the value of each
-- of its trials, the series the trial's outcome. The list has metaparameter (its name) and relative: whether y is divided by
-- the highest value that the study searched, for a range that is another one at every batch size. low and high are the
-- borders of the range, scale how it was searched; of a reverse logarithmic one y, low and high are 1 - the value. A
-- metaparameter that a release has no value of has one row.
CREATE MACRO gridded(outcome_rows) AS TABLE
WITH searched AS (
    SELECT
        *,
        metaparameters[metaparameter] AS value,
        search_space->metaparameter AS space,
        arg_min(space->>'scale', (release_order, batch_size)) FILTER (space IS NOT NULL)
            OVER (PARTITION BY panel_order) AS searched_scale
    FROM query_table(outcome_rows)
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
    FROM searched
)
SELECT
    panel,
    outcome AS series,
    CASE WHEN value IS NOT NULL THEN batch_size END AS x,
    CASE WHEN scale = 'reverse_log' THEN 1 - value WHEN relative THEN value / most ELSE value END AS y,
    panel_order,
    outcome_order AS series_order,
    release,
    release_order,
    workload,
    metric,
    goal,
    goal_inclusive,
    trials,
    asked_trials,
    trial_id,
    steps,
    best,
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

-- The workloads of the figures that draw any: those named or, where workload_names is NULL, all of the releases; each with
-- its own goal (of several releases the first one's) unless goal_value is given. A workload without goal is left out.
-- workload_order is where it stands among them; is_largest tells the one with the most trials, of those that search the
-- momentum if there are such, which stands for all where each has a panel a study.
CREATE MACRO any_workloads(release_name, workload_names, goal_value) AS TABLE
SELECT
    workload,
    metric,
    coalesce(goal_value, goal)::DOUBLE AS goal,
    goal_inclusive,
    collection,
    dataset,
    model,
    optimizer,
    coalesce(sparsity, 0) AS sparsity,
    concat_ws('/', collection, dataset) AS data,
    concat(model, ' on ', data, ' with ', optimizer) AS title,
    dense_rank() OVER (
        ORDER BY collection NULLS FIRST, dataset, optimizer, regexp_replace(model, '\d+', '', 'g'),
        regexp_extract_all(model, '\d+')::INTEGER[], workload
    ) AS workload_order,
    rank() OVER (ORDER BY optimizer = 'sgd', trials DESC, workload) = 1 AS is_largest
FROM (
    SELECT
        * REPLACE (sum(trials) OVER (PARTITION BY workload) AS trials),
        list_position(drawn_releases(release_name, workload_names), release) AS release_order
    FROM workloads
)
WHERE release_order IS NOT NULL
AND (workload_names IS NULL OR list_contains(workload_names, workload))
AND coalesce(goal_value, goal) IS NOT NULL
AND studies > 0
QUALIFY row_number() OVER (PARTITION BY workload ORDER BY release_order) = 1;

-- Rows of any_workloads, which have a panel_order, as curves: named by what tells them from the others of their panel, and
-- the panel by what they share.
CREATE MACRO named_by_difference(chosen) AS TABLE
SELECT
    panel_order,
    concat_ws(
        ' ',
        CASE WHEN NOT models_differ THEN model END,
        CASE WHEN NOT models_differ AND NOT data_differ THEN 'on' END,
        CASE WHEN NOT data_differ THEN data END,
        CASE WHEN NOT optimizers_differ THEN concat('with ', optimizer) END
    ) AS panel,
    row_number() OVER (PARTITION BY panel_order ORDER BY workload_order) AS series_order,
    coalesce(
        nullif(concat_ws(
            ' ',
            CASE WHEN models_differ OR NOT data_differ AND NOT optimizers_differ THEN model END,
            CASE WHEN data_differ THEN data END,
            CASE WHEN optimizers_differ THEN optimizer END
        ), ''),
        workload
    ) AS series,
    workload,
    metric,
    goal,
    goal_inclusive
FROM (
    SELECT
        *,
        min(data) OVER panel <> max(data) OVER panel AS data_differ,
        min(model) OVER panel <> max(model) OVER panel AS models_differ,
        min(optimizer) OVER panel <> max(optimizer) OVER panel AS optimizers_differ
    FROM query_table(chosen)
    WINDOW panel AS (PARTITION BY panel_order)
);

-- The batch size nearest to another one, by their ratio, of those that most of the releases' studies of the workloads
-- share; ties go to the smaller one.
CREATE MACRO near_batch_size(wanted_batch_size, release_name, workload_names) AS (
    SELECT batch_size
    FROM studies
    WHERE list_contains(drawn_releases(release_name, workload_names), release) AND list_contains(workload_names, workload)
    GROUP BY batch_size
    ORDER BY count(*) DESC, abs(log2(batch_size / wanted_batch_size)), batch_size
    LIMIT 1
);

-- The curves of the sparsity study: for each network of a list (panel_order, panel, dataset, model, optimizer and what else,
-- which is passed on) one for each sparsity of another (series_order, series, sparsity). Its goals are reached at them, not
-- only past them.
CREATE MACRO sparse_curves(networks, sparsities) AS TABLE
SELECT
    * EXCLUDE (dataset, model, optimizer, held_workload),
    coalesce(
        held_workload, concat_ws('/', format('sparsity_{:.0f}', 100 * sparsity), dataset, model, optimizer)
    ) AS workload,
    true AS goal_inclusive
FROM query_table(networks)
CROSS JOIN query_table(sparsities)
-- A dense network is in several collections; that of this study is trained by its protocol, and where it is not there,
-- the one without a name comes nearest.
LEFT JOIN (
    SELECT dataset, model, optimizer, sparsity, arg_min(workload, (collection IS NULL, workload)) AS held_workload
    FROM workloads
    WHERE collection IS NULL OR collection = 'sparsity_0' OR sparsity > 0
    GROUP BY ALL
) AS held USING (dataset, model, optimizer, sparsity);

-- What the views and their columns mean: DuckDB returns it from duckdb_views() and duckdb_columns(), and clients show it.
-- docs/schema.md is written from it. A column's comment is its meaning, then its unit where it has one, then where it is
-- NULL where it can be.

COMMENT ON VIEW releases IS 'The releases: sets of measurements that were published, produced or loaded together. A row a release.';
COMMENT ON COLUMN releases.release IS 'The release''s name, such as published or measured.';
COMMENT ON COLUMN releases.title IS 'One line on what it is. NULL where none was given.';
COMMENT ON COLUMN releases.licence IS 'The licence of the measurements: an SPDX identifier, or a sentence. NULL where none was given.';
COMMENT ON COLUMN releases.workloads IS 'How many workloads it has.';
COMMENT ON COLUMN releases.studies IS 'How many studies it has.';
COMMENT ON COLUMN releases.trials IS 'How many trials it has, of any status.';
COMMENT ON COLUMN releases.measurements IS 'How many measurements it has.';
COMMENT ON COLUMN releases.citation IS 'How to cite it: BibTeX. NULL where none was given.';

COMMENT ON VIEW workloads IS 'The workloads: choices of a data set, a model and an optimizer. A row a workload of a release.';
COMMENT ON COLUMN workloads.release IS 'The release that it belongs to.';
COMMENT ON COLUMN workloads.workload IS 'The workload''s name, DATASET/MODEL/OPTIMIZER, below its collection where it has one; unique in its release.';
COMMENT ON COLUMN workloads.collection IS 'What stands before the data set in the name, such as mnist_subsets. NULL for most.';
COMMENT ON COLUMN workloads.dataset IS 'The data set.';
COMMENT ON COLUMN workloads.model IS 'The model.';
COMMENT ON COLUMN workloads.optimizer IS 'The optimizer.';
COMMENT ON COLUMN workloads.sparsity IS 'Share of weights pruned before training; 0 for dense networks. Unit: share from 0 up to 1.';
COMMENT ON COLUMN workloads.metric IS 'The metric of the goal: the name of a column of measurements.';
COMMENT ON COLUMN workloads.goal IS 'The value of the metric that training is to get past. Unit: that of the metric. NULL where no goal is known.';
COMMENT ON COLUMN workloads.maximize IS 'Whether higher values of the metric are better.';
COMMENT ON COLUMN workloads.goal_inclusive IS 'Whether a value equal to the goal has reached it, and not only one strictly past it.';
COMMENT ON COLUMN workloads.train_examples IS 'Size of the training split, which makes an epoch. Unit: examples. NULL where it is not known, as of some workloads of archives.';
COMMENT ON COLUMN workloads.studies IS 'How many studies it has, one a batch size.';
COMMENT ON COLUMN workloads.trials IS 'How many trials it has, of any status.';
COMMENT ON COLUMN workloads.measurements IS 'How many measurements it has.';
COMMENT ON COLUMN workloads.definition IS 'The producer''s whole definition: an object. NULL for archives.';

COMMENT ON VIEW studies IS 'The studies: searches for the metaparameters of one workload at one batch size. A row a study.';
COMMENT ON COLUMN studies.release IS 'The release that it belongs to.';
COMMENT ON COLUMN studies.workload IS 'The workload''s name.';
COMMENT ON COLUMN studies.batch_size IS 'The global batch size: how many examples an update averages over. Unit: examples.';
COMMENT ON COLUMN studies.train_steps IS 'The fewest updates with which a trial counts as COMPLETE; 0 where the budget was time. Unit: updates.';
COMMENT ON COLUMN studies.early_stopping IS 'Whether trials were stopped before the steps that they could have taken.';
COMMENT ON COLUMN studies.search_space IS 'What was searched: an object by metaparameter, with type, min_value, max_value and scale, or with feasible_points.';
COMMENT ON COLUMN studies.complete IS 'How many of its trials are COMPLETE.';
COMMENT ON COLUMN studies.incomplete IS 'How many of its trials are INCOMPLETE.';
COMMENT ON COLUMN studies.infeasible IS 'How many of its trials are INFEASIBLE.';
COMMENT ON COLUMN studies.measurements IS 'How many measurements it has.';
COMMENT ON COLUMN studies.seed IS 'The root of its trials'' seeds. NULL for archives and runs of other tools.';
COMMENT ON COLUMN studies.search IS 'How it was searched in lockstep, and where that stopped: an object that schema/shard.toml explains. NULL where every trial trained to its end.';
COMMENT ON COLUMN studies.stopped IS 'Whether it ended when enough of its trials were past the workload''s goal: of other goals and metrics it tells what came until then alone.';

COMMENT ON VIEW trials IS 'The trials: training runs with one choice of metaparameters each. A row a trial.';
COMMENT ON COLUMN trials.release IS 'The release that it belongs to.';
COMMENT ON COLUMN trials.workload IS 'The workload''s name.';
COMMENT ON COLUMN trials.batch_size IS 'The global batch size. Unit: examples.';
COMMENT ON COLUMN trials.trial_id IS 'The trial''s number, unique in its study; the order in which trials were drawn.';
COMMENT ON COLUMN trials.status IS 'COMPLETE, INCOMPLETE (stopped for some reason) or INFEASIBLE (diverged).';
COMMENT ON COLUMN trials.steps IS 'The last step that was taken. Unit: updates.';
COMMENT ON COLUMN trials.learning_rate IS 'The metaparameter learning_rate, before any decay. NULL where the trial has none.';
COMMENT ON COLUMN trials.momentum IS 'The metaparameter momentum. NULL where the trial has none, as with plain SGD.';
COMMENT ON COLUMN trials.end_learning_rate_factor IS 'What the learning rate is multiplied by at the end of its decay. NULL where the trial has none.';
COMMENT ON COLUMN trials.learning_rate_decay_steps IS 'How long the learning rate decays. Unit: updates. NULL where the trial has none.';
COMMENT ON COLUMN trials.label_smoothing IS 'How much of each label is spread over the other classes. Unit: share from 0 to 1. NULL where the trial has none.';
COMMENT ON COLUMN trials.metaparameters IS 'All metaparameters by name, those above among them.';
COMMENT ON COLUMN trials.seed IS 'Of initialisation and batch order. NULL for archives, and where it is not known.';
COMMENT ON COLUMN trials.measurements IS 'How many measurements it has.';
COMMENT ON COLUMN trials.ordinal IS 'Its number among the trials of its study that count for steps to result: COMPLETE ones, and of a study that was searched in lockstep also those that were dropped. NULL where it does not count.';
COMMENT ON COLUMN trials.name IS 'What the tool that it comes from calls it. NULL where that has no name for it.';
COMMENT ON COLUMN trials.shard IS 'The file of its rows, below the release folder.';
COMMENT ON COLUMN trials.producer IS 'What wrote that file: versions, device, git revision; of archives and runs of other tools where they came from.';

COMMENT ON VIEW measurements IS 'The measurements: what was measured after a step of a trial. A row a step at which anything was measured.';
COMMENT ON COLUMN measurements.release IS 'The release that it belongs to.';
COMMENT ON COLUMN measurements.workload IS 'The workload''s name.';
COMMENT ON COLUMN measurements.dataset IS 'The data set.';
COMMENT ON COLUMN measurements.model IS 'The model.';
COMMENT ON COLUMN measurements.optimizer IS 'The optimizer.';
COMMENT ON COLUMN measurements.batch_size IS 'The global batch size. Unit: examples.';
COMMENT ON COLUMN measurements.trial_id IS 'The trial, unique in its study.';
COMMENT ON COLUMN measurements.status IS 'The trial''s status: COMPLETE, INCOMPLETE or INFEASIBLE.';
COMMENT ON COLUMN measurements.step IS 'Updates made so far; 0 is the state before the first. Unit: updates.';
COMMENT ON COLUMN measurements.train_cross_entropy_error IS 'Mean cross entropy on the recorded subset of the training split. Unit: nats an example. NULL between evaluations, and where it was not measured.';
COMMENT ON COLUMN measurements.train_classification_error IS 'Share of wrongly classified examples of the recorded subset of the training split. Unit: share of examples. NULL between evaluations, and where it was not measured.';
COMMENT ON COLUMN measurements.val_cross_entropy_error IS 'Mean cross entropy on the validation split. Unit: nats an example. NULL between evaluations, and where it was not measured.';
COMMENT ON COLUMN measurements.val_classification_error IS 'Share of wrongly classified examples of the validation split. Unit: share of examples. NULL between evaluations, and where it was not measured.';
COMMENT ON COLUMN measurements.test_cross_entropy_error IS 'Mean cross entropy on the test split. Unit: nats an example. NULL between evaluations, and where it was not measured.';
COMMENT ON COLUMN measurements.test_classification_error IS 'Share of wrongly classified examples of the test split. Unit: share of examples. NULL between evaluations, and where it was not measured.';
COMMENT ON COLUMN measurements.train_average_precision IS 'Average precision on the recorded subset of the training split; higher is better. Unit: share from 0 to 1. NULL between evaluations, and where it was not measured.';
COMMENT ON COLUMN measurements.val_average_precision IS 'Average precision on the validation split; higher is better. Unit: share from 0 to 1. NULL between evaluations, and where it was not measured.';
COMMENT ON COLUMN measurements.test_average_precision IS 'Average precision on the test split; higher is better. Unit: share from 0 to 1. NULL between evaluations, and where it was not measured.';
COMMENT ON COLUMN measurements.batch_cross_entropy_error IS 'Mean loss on the step''s own batch, before its update. Unit: nats an example. NULL at step 0, and where it was not recorded, as in archives.';
COMMENT ON COLUMN measurements.other_metrics IS 'Metrics without a column of their own, by name. Unit: that of each metric. NULL where a step has none.';

COMMENT ON VIEW evaluations IS 'The metrics of the measurements in long form, for queries that take the metric as a value. A row a value.';
COMMENT ON COLUMN evaluations.release IS 'The release that it belongs to.';
COMMENT ON COLUMN evaluations.workload IS 'The workload''s name.';
COMMENT ON COLUMN evaluations.batch_size IS 'The global batch size. Unit: examples.';
COMMENT ON COLUMN evaluations.trial_id IS 'The trial, unique in its study.';
COMMENT ON COLUMN evaluations.status IS 'The trial''s status: COMPLETE, INCOMPLETE or INFEASIBLE.';
COMMENT ON COLUMN evaluations.step IS 'Updates made so far. Unit: updates.';
COMMENT ON COLUMN evaluations.metric IS 'The name of a column of measurements.';
COMMENT ON COLUMN evaluations.value IS 'What it was. Unit: that of the metric.';
