-- Shared logic of the figures' queries. A query lists its curves in a common table expression named "curves" and passes
-- that name. Its columns: panel_order, panel, series_order, series, workload, metric, trials; and, where a figure needs
-- them, goal, goal_text, normalise_at, label_smoothing, most_steps, most_examples. release_name (several joined by
-- commas: each curve then has rows of every one), goal_value and trial_count may be NULL: then the release with the most
-- studies is drawn, and the lists' own values hold.

-- The release a figure is drawn from: the one asked for, else the one with the most studies of these workloads.
CREATE MACRO figure_release(release_name, workload_names) AS coalesce(release_name, (
    SELECT release
    FROM stored.release
    JOIN stored.workload USING (release_id)
    JOIN stored.study USING (workload_id)
    WHERE workload_names IS NULL OR list_contains(workload_names, workload)
    GROUP BY release_id, release
    ORDER BY count(*) DESC, release_id
    LIMIT 1
));

-- The releases a figure is drawn from, each once, with its place in the list.
CREATE MACRO figure_releases(release_name, workload_names) AS TABLE
SELECT release, min(place) AS release_order
FROM (
    SELECT trim(unnest(names)) AS release, generate_subscripts(names, 1) AS place
    FROM (SELECT string_split(release_name, ',') AS names)
    WHERE release_name IS NOT NULL
    UNION ALL
    SELECT figure_release(NULL, workload_names), 1
    WHERE release_name IS NULL
)
GROUP BY release;

-- A goal as a reader says it: val_classification_error, 0.01 -> validation error < 0.01; where a value equal to it has
-- reached it, inclusive_goal_text says validation error ≤ 0.01.
CREATE MACRO goal_text(metric, goal) AS concat(
    CASE split_part(metric, '_', 1)
        WHEN 'train' THEN 'training '
        WHEN 'val' THEN 'validation '
        WHEN 'test' THEN 'test '
        WHEN 'batch' THEN 'batch '
    END,
    CASE
        WHEN metric LIKE '%cross_entropy_error' THEN 'cross entropy < '
        WHEN metric LIKE '%classification_error' THEN 'error < '
        ELSE 'average precision > '
    END,
    goal
);
CREATE MACRO inclusive_goal_text(metric, goal) AS replace(replace(goal_text(metric, goal), '<', '≤'), '>', '≥');

-- The studies behind a figure's curves, a row a curve, release and batch size, with the columns of the list that were
-- left out as NULL. A curve whose workload the release lacks has one row without study. question is the same for curves
-- that look at the same metric, with the same goal, of the same trials of a study.
CREATE MACRO curve_studies(curves, release_name, goal_value, trial_count) AS TABLE
WITH listed AS (
    SELECT
        NULL::DOUBLE AS goal,
        NULL::VARCHAR AS goal_text,
        NULL::BIGINT AS normalise_at,
        NULL::DOUBLE AS label_smoothing,
        NULL::BIGINT AS most_steps,
        NULL::DOUBLE AS most_examples
    WHERE false
    UNION ALL BY NAME
    SELECT * FROM query_table(curves)
),
asked AS (
    SELECT
        panel_order,
        panel,
        series_order,
        series,
        workload,
        metric,
        coalesce(goal_value, goal)::DOUBLE AS goal,
        coalesce(goal_text, goal_text(metric, coalesce(goal_value, goal)::DOUBLE)) AS goal_text,
        coalesce(trial_count, trials)::BIGINT AS asked_trials,
        normalise_at,
        label_smoothing,
        most_steps,
        most_examples
    FROM listed
),
held AS (
    SELECT release, workload, study_id, batch_size, train_steps, search_space, stopped_at_goal(search, train_steps) AS stopped
    FROM stored.study
    JOIN stored.workload USING (workload_id)
    JOIN stored.release USING (release_id)
)
SELECT
    asked.*,
    releases.release,
    release_order,
    study_id,
    batch_size,
    train_steps,
    search_space,
    stopped,
    dense_rank() OVER (ORDER BY study_id, metric, asked.goal, asked_trials, label_smoothing) AS question
FROM asked
CROSS JOIN figure_releases(release_name, (SELECT list(workload) FROM asked)) AS releases
LEFT JOIN held ON held.release = releases.release AND held.workload = asked.workload;

-- The trials that count for each question to some studies, which the common table expression named "chosen" holds as
-- curve_studies returns them: of each study the first asked_trials that count (searched_trials). in_group tells those of the curve's
-- label smoothing, which is looked at after the first trials have been taken.
CREATE MACRO curve_trials(chosen) AS TABLE
WITH asked AS (
    SELECT DISTINCT question, study_id, metric, goal, asked_trials, label_smoothing
    FROM query_table(chosen)
),
complete AS (
    SELECT study_id, trial_id, metaparameters, row_number() OVER (PARTITION BY study_id ORDER BY trial_id) AS place
    FROM searched_trials()
    JOIN stored.trial USING (study_id, trial_id)
    WHERE study_id IN (SELECT study_id FROM asked)
)
SELECT
    question,
    study_id,
    trial_id,
    metric,
    goal,
    label_smoothing IS NULL OR coalesce(metaparameters['label_smoothing'] = label_smoothing, false) AS in_group
FROM asked
JOIN complete USING (study_id)
WHERE place <= asked_trials;

-- Steps to result of every study behind a figure's curves, by the rules of steps_to_result, a row a curve, release and
-- batch size. trials counts those that were taken of the study, group_trials those of the curve's label smoothing.
CREATE MACRO curve_steps(curves, release_name, goal_value, trial_count) AS TABLE
WITH chosen AS MATERIALIZED (
    SELECT * FROM curve_studies(curves, release_name, goal_value, trial_count)
),
taken AS MATERIALIZED (
    SELECT * FROM curve_trials('chosen')
),
counted AS (
    SELECT question, count(*) AS trials, count(*) FILTER (in_group) AS group_trials
    FROM taken
    GROUP BY question
),
taken_trials AS MATERIALIZED (
    SELECT DISTINCT study_id, trial_id, metric, goal
    FROM taken
    WHERE in_group
),
reached AS (
    SELECT question, arg_min({'trial_id': trial_id, 'step': step}, (step, trial_id)) AS first
    FROM taken
    JOIN first_past_goal('taken_trials') USING (study_id, trial_id, metric, goal)
    WHERE in_group
    GROUP BY question
)
SELECT
    -- Of a study that ended before a trial was past this goal nobody knows the steps.
    chosen.* EXCLUDE (study_id, train_steps, label_smoothing, most_steps, most_examples, question, stopped)
        REPLACE (CASE WHEN NOT (stopped AND first IS NULL) THEN batch_size END AS batch_size),
    first.step AS steps,
    first.trial_id AS trial_id,
    CASE WHEN chosen.study_id IS NOT NULL THEN coalesce(trials, 0) END AS trials,
    CASE WHEN chosen.study_id IS NOT NULL THEN coalesce(group_trials, 0) END AS group_trials,
    metaparameters['learning_rate'] AS learning_rate,
    metaparameters['momentum'] AS momentum
FROM chosen
LEFT JOIN counted USING (question)
LEFT JOIN reached USING (question)
LEFT JOIN stored.trial AS best ON best.study_id = chosen.study_id AND best.trial_id = first.trial_id;

-- The points of a figure of steps to result: y is the steps, NULL where no trial reached the goal; perfect is the line
-- of perfect scaling through the curve's smallest batch size that reached it: twice the batch, half the steps.
CREATE MACRO steps_points(curves, release_name, goal_value, trial_count) AS TABLE
SELECT
    panel,
    series,
    batch_size AS x,
    steps AS y,
    panel_order,
    series_order,
    'steps_to_result' AS kind,
    release,
    workload,
    metric,
    goal,
    goal_text,
    trials,
    asked_trials,
    group_trials,
    release_order,
    arg_min(steps * batch_size, batch_size) OVER (PARTITION BY panel_order, series_order, release_order) / batch_size AS perfect,
    steps,
    trial_id,
    learning_rate,
    momentum
FROM curve_steps(curves, release_name, goal_value, trial_count)
ORDER BY panel_order, series_order, release_order, x;

-- The points of a normalised figure: y is the steps divided by the curve's own steps at the batch size normalise_at,
-- NULL where either is missing or the latter is 0; perfect is the line of perfect scaling, which is 1 at that batch size.
-- Where the list has no normalise_at, or more of the panel's curves reached the goal at another batch size, it is that at
-- which most of them did; of several the named one, else that of the curves with most points, else the smallest.
CREATE MACRO normalised_points(curves, release_name, goal_value, trial_count) AS TABLE
WITH found AS MATERIALIZED (
    SELECT
        *,
        steps > 0 AS divides,
        count(*) FILTER (divides) OVER (PARTITION BY panel_order, series_order, release_order) AS points_of_curve
    FROM curve_steps(curves, release_name, goal_value, trial_count)
),
shared AS (
    SELECT panel_order, arg_max(batch_size, (curves_there, is_named, points_there, -batch_size)) AS shared_at
    FROM (
        SELECT
            panel_order,
            batch_size,
            count(*) AS curves_there,
            sum(points_of_curve) AS points_there,
            coalesce(batch_size = any_value(normalise_at), false) AS is_named
        FROM found
        WHERE divides
        GROUP BY panel_order, batch_size
    )
    GROUP BY panel_order
),
placed AS (
    SELECT * REPLACE (coalesce(shared_at, normalise_at) AS normalise_at)
    FROM found
    LEFT JOIN shared USING (panel_order)
)
SELECT
    panel,
    series,
    batch_size AS x,
    steps / max(steps) FILTER (batch_size = normalise_at AND divides)
        OVER (PARTITION BY panel_order, series_order, release_order) AS y,
    panel_order,
    series_order,
    'normalised' AS kind,
    release,
    workload,
    metric,
    goal,
    goal_text,
    trials,
    asked_trials,
    group_trials,
    release_order,
    normalise_at / batch_size AS perfect,
    steps,
    normalise_at,
    trial_id,
    learning_rate,
    momentum
FROM placed
ORDER BY panel_order, series_order, release_order, x;

-- Where a value lies in its range of the search space, from 0 at the lower border to 1 at the upper one, measured on
-- the scale that was searched; NULL where the range is a list of points or one value wide.
CREATE MACRO place_in_range(value, low, high, scale) AS CASE
    WHEN low IS NULL OR high <= low THEN NULL
    WHEN scale LIKE 'LOG%' THEN ln(value / low) / ln(high / low)
    WHEN scale LIKE 'REVERSE_LOG%' THEN ln((1 - value) / (1 - low)) / ln((1 - high) / (1 - low))
    ELSE (value - low) / (high - low)
END;

-- Whether a value lies within a twentieth of a border of its range, which a wider search might beat. space is the
-- metaparameter's part of the search space.
CREATE MACRO at_border(value, space) AS coalesce(
    place_in_range(
        value, (space->>'min_value')::DOUBLE, (space->>'max_value')::DOUBLE, space->>'scale'
    ) NOT BETWEEN 0.05 AND 0.95,
    false
);

-- The points of a figure of optimal metaparameters, of the trial that reached the goal first: y is its learning_rate,
-- its effective_learning_rate (learning rate / (1 - momentum)), or 1 - momentum, as metaparameter_name says. linear and
-- square_root are the two scaling rules of learning rates through the curve's first point. low and high are the searched
-- range of y; at_border tells a trial near a border of it, where y is of two metaparameters near one of either's.
CREATE MACRO metaparameter_points(curves, release_name, goal_value, trial_count, metaparameter_name) AS TABLE
WITH valued AS (
    SELECT
        *,
        learning_rate / nullif(1 - coalesce(momentum, 0), 0) AS effective_learning_rate,
        CASE metaparameter_name
            WHEN 'learning_rate' THEN learning_rate
            WHEN 'effective_learning_rate' THEN effective_learning_rate
            WHEN 'momentum' THEN 1 - momentum
        END AS y,
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
    FROM curve_steps(curves, release_name, goal_value, trial_count)
),
scaled AS (
    SELECT
        *,
        arg_min({'x': batch_size, 'y': y}, batch_size) FILTER (y IS NOT NULL AND metaparameter_name <> 'momentum')
            OVER (PARTITION BY panel_order, series_order, release_order) AS first
    FROM valued
)
SELECT
    panel,
    series,
    batch_size AS x,
    y,
    panel_order,
    series_order,
    'metaparameter' AS kind,
    release,
    workload,
    metric,
    goal,
    goal_text,
    trials,
    asked_trials,
    group_trials,
    release_order,
    first.y * batch_size / first.x AS linear,
    first.y * sqrt(batch_size / first.x) AS square_root,
    low,
    high,
    at_border,
    steps,
    trial_id,
    learning_rate,
    momentum,
    effective_learning_rate
FROM scaled
ORDER BY panel_order, series_order, release_order, x;
