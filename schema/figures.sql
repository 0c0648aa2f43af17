-- What the figures' queries share; see queries/figures. A figure lists its curves (or its panels, or its readings) in a
-- common table expression, of the view figure_curves or of the workloads that a user chose: panel_order, panel, series_order,
-- series, workload, metric and, where it needs them, batch_size (NULL: every one), goal, goal_inclusive, asked_trials (NULL:
-- all trials count), normalise_at, most_steps, most_examples and whatever it wants to find again. `drawn` asks each of a
-- release's studies for them, the macros of macros.sql answer, and those below make points.

CREATE VIEW figure_curves AS
SELECT
    figure,
    panel_order,
    panel,
    series_order,
    series,
    workload,
    batch_size,
    sparsity,
    metric,
    goal,
    goal_inclusive,
    asked_trials,
    normalise_at,
    most_steps,
    budget,
    most_examples,
    label_smoothing,
    metaparameter,
    relative,
    x_from,
    x_to,
    y_from,
    y_to
FROM stored.figure_curves;

-- The curves of one figure.
CREATE MACRO curves_of(figure_name) AS TABLE
SELECT * EXCLUDE (figure)
FROM figure_curves
WHERE figure = figure_name;

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
-- workload, at the batch size it names, is not in a release has one row there, which is not held. Where a release lacks a dense
-- network of the sparsity study, sparsity_0/DATASET/MODEL/OPTIMIZER, that without a collection stands for it, which comes nearest.
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
),
chosen AS (
    SELECT
        listed.*,
        drawn.release,
        release_order,
        coalesce(own.workload, regexp_replace(listed.workload, '^sparsity_0/', '')) AS held_workload
    FROM listed
    CROSS JOIN drawn
    LEFT JOIN (SELECT DISTINCT release, workload FROM studies) AS own
        ON own.release = drawn.release
        AND own.workload = listed.workload
)
SELECT
    chosen.* EXCLUDE (held_workload) REPLACE (
        coalesce(studies.workload, chosen.workload) AS workload,
        coalesce(studies.batch_size, chosen.batch_size) AS batch_size,
        coalesce(goal_value, goal)::DOUBLE AS goal,
        coalesce(goal_inclusive, false) AS goal_inclusive,
        coalesce(trial_count, asked_trials)::BIGINT AS asked_trials
    ),
    train_steps,
    stopped,
    studies.search_space,
    studies.batch_size IS NOT NULL AS is_held
FROM chosen
LEFT JOIN studies
    ON studies.release = chosen.release
    AND studies.workload = held_workload
    AND studies.batch_size = coalesce(chosen.batch_size, studies.batch_size);

-- Rows of study_steps with the trial that stands for each study: the one that reached the goal first or, where none did, the
-- one of the study's row of study_best.
CREATE MACRO standing(study_rows, best_rows) AS TABLE
SELECT first.* REPLACE (coalesce(first.trial_id, best.trial_id) AS trial_id)
FROM query_table(study_rows) AS first
LEFT JOIN query_table(best_rows) AS best USING (panel_order, series_order, release_order, batch_size);

-- Whether nobody knows a study's steps to a goal: its search ended before a trial was past it. Takes two columns of a row of
-- study_steps.
CREATE MACRO steps_unknown(stopped, steps) AS coalesce(stopped AND steps IS NULL, false);

-- Steps to result against batch size, from rows of study_steps. A study whose steps are unknown (is_unknown) has an x where
-- its curve has steps at another batch size. perfect is the line of perfect scaling through the curve's smallest batch size
-- that reached the goal: twice the batch, half the steps.
CREATE MACRO steps_points(study_rows) AS TABLE
SELECT
    panel,
    series,
    CASE WHEN NOT steps_unknown(stopped, steps) OR count(steps) OVER curve > 0 THEN batch_size END AS x,
    steps AS y,
    arg_min(steps * batch_size, batch_size) FILTER (steps IS NOT NULL) OVER curve / x AS perfect,
    * EXCLUDE (
        panel, series, trials, metaparameters, train_steps, stopped, search_space, is_held, most_steps, most_examples
    ),
    CASE WHEN is_held THEN trials END AS trials,
    steps_unknown(stopped, steps) AS is_unknown
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

-- The points of steps_points, banded, all divided: y is the steps divided by the curve's own at the batch size normalise_at,
-- NULL where either is missing or the latter is 0; so are band_low and band_high; perfect is 1 there. Where the list has no normalise_at, or more of the panel's
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
SELECT * EXCLUDE (divides, points_of_curve, shared_at, own_steps) REPLACE (
    steps / own_steps AS y,
    band_low / own_steps AS band_low,
    band_high / own_steps AS band_high,
    coalesce(shared_at, normalise_at) AS normalise_at,
    coalesce(shared_at, normalise_at) / x AS perfect
)
FROM (
    SELECT
        *,
        max(steps) FILTER (x = coalesce(shared_at, normalise_at) AND divides)
            OVER (PARTITION BY panel_order, series_order, release_order) AS own_steps
    FROM found
    LEFT JOIN shared USING (panel_order)
)
ORDER BY panel_order, series_order, release_order, x;

-- A trial's learning_rate, effective_learning_rate (learning rate / (1 - momentum)) or, as momentum, 1 - momentum.
CREATE MACRO metaparameter_of(metaparameter_name, learning_rate, momentum) AS CASE metaparameter_name
    WHEN 'learning_rate' THEN learning_rate
    WHEN 'effective_learning_rate' THEN learning_rate / nullif(1 - coalesce(momentum, 0), 0)
    WHEN 'momentum' THEN 1 - momentum
END;

-- The points of steps_points as optimal metaparameters: y is the metaparameter_of the trial that reached the goal first. linear
-- and square_root are the two scaling rules of learning rates through the curve's first point. low and high are the searched
-- range of y; at_border tells a trial near a border of it, where y is of two metaparameters near one of either's.
CREATE MACRO optimal(points, metaparameter_name) AS TABLE
WITH valued AS (
    SELECT
        * REPLACE (metaparameter_of(metaparameter_name, learning_rate, momentum) AS y),
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
        ELSE concat(upper(metaparameter[1]), replace(metaparameter[2:], '_', ' '), CASE WHEN relative THEN ' / most searched' ELSE '' END)
    END AS y_label
FROM ranges
QUALIFY value IS NOT NULL OR row_number() OVER (
    PARTITION BY panel_order, release_order ORDER BY value NULLS LAST, batch_size, trial_id
) = 1
ORDER BY panel_order, series_order, release_order, x, trial_id;

-- The workloads of the figures that draw any: those named or, where workload_names is NULL, all of the releases; each with
-- its own goal (of several releases the first one's) unless goal_value is given. A workload without goal is left out.
-- workload_order is where it stands among them; is_largest tells the one with the most trials, which stands for all where
-- each has a panel a study.
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
    rank() OVER (ORDER BY trials DESC, workload) = 1 AS is_largest
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

-- Those of any_workloads that were named or, where none were, the one with the most trials.
CREATE MACRO named_or_largest(release_name, workload_names, goal_value) AS TABLE
FROM any_workloads(release_name, workload_names, goal_value)
WHERE workload_names IS NOT NULL OR is_largest;

-- What the figures of one workload, or of a few, say above all panels: the one's title (NULL: panels name several), and that
-- nobody has chosen it (NULL: someone has). chosen are rows of any_workloads.
CREATE MACRO subject_of(chosen, workload_names) AS TABLE
SELECT
    CASE WHEN count(DISTINCT workload) = 1 THEN any_value(title) END AS subject,
    CASE WHEN workload_names IS NULL THEN 'Of the workloads with a goal this one has the most trials.' END AS choice
FROM query_table(chosen);

-- Rows of any_workloads as curves, a panel each.
CREATE MACRO one_panel_each(chosen) AS TABLE
SELECT
    workload_order AS panel_order, title AS panel, 1 AS series_order, model AS series, workload, metric, goal, goal_inclusive
FROM query_table(chosen);

-- Rows of any_workloads as curves, in one panel or, where workload_names is NULL, a panel for those that share data set,
-- optimizer and goal: named by what tells them from the others of their panel, and the panel by what they share.
CREATE MACRO named_by_difference(chosen, workload_names) AS TABLE
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
    FROM (
        SELECT
            *,
            CASE WHEN workload_names IS NULL THEN dense_rank() OVER (ORDER BY collection NULLS FIRST, dataset, optimizer, metric, goal) ELSE 1 END
                AS panel_order
        FROM query_table(chosen)
    )
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
