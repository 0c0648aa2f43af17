-- Shared logic of the figures whose points are trials: scatter plots and grids of a search space; those of measurements
-- are in figure_measurement_macros.sql. A query lists its panels or curves in a common table expression and passes that
-- name. release_name (several joined by commas: each panel then has rows of every one), goal_value and trial_count may
-- be NULL: then the release with the most studies is drawn, and the lists' own values hold.

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
    goal,
    goal_text
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

-- Every trial that counts, and every INFEASIBLE one, of the studies behind a figure's panels, and what became of it; trial_count NULL
-- takes all of them. The list is that of listed_studies with most_steps (the budget; NULL: none). outcome is goal
-- achieved, goal not achieved or infeasible, whatever an infeasible trial measured before it diverged; steps are those
-- to the goal; best is the trial of its study that reached the goal first, ties going to the smaller trial id;
-- longest_trial are the steps of the longest of these trials.
CREATE MACRO panel_outcomes(panels, release_name, goal_value, trial_count) AS TABLE
WITH chosen AS MATERIALIZED (
    SELECT * FROM listed_studies(panels, release_name, goal_value, trial_count)
),
taken AS MATERIALIZED (
    SELECT panel_order, study_id, trial_id, status, trial.steps AS taken_steps, metric, goal, metaparameters
    FROM chosen
    JOIN stored.trial USING (study_id)
    WHERE status = 'INFEASIBLE' OR (study_id, trial_id) IN (SELECT (study_id, trial_id) FROM searched_trials())
    QUALIFY asked_trials IS NULL
        OR row_number() OVER (PARTITION BY panel_order, study_id ORDER BY trial_id) <= asked_trials
),
complete_trials AS MATERIALIZED (
    SELECT DISTINCT study_id, trial_id, metric, goal
    FROM taken
    WHERE status <> 'INFEASIBLE'
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
        count(*) OVER (PARTITION BY panel_order, study_id) AS trials,
        max(taken_steps) OVER (PARTITION BY panel_order, study_id) AS longest_trial
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
    longest_trial,
    CASE WHEN study_id IS NOT NULL THEN coalesce(trials, 0) END AS trials
FROM chosen
LEFT JOIN classed USING (panel_order, study_id);

-- The points of a scatter plot of metaparameters, a panel a study: x is a trial's learning rate, y its 1 - momentum
-- (1 where none is searched), the series its outcome. x_low to y_high are the borders of the search space. most_steps is
-- the budget, or the steps of the study's longest trial where that had fewer.
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
    CASE WHEN longest_trial < most_steps THEN longest_trial ELSE most_steps END AS most_steps,
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
    SELECT NULL::VARCHAR AS goal_text WHERE false
    UNION ALL BY NAME
    SELECT * REPLACE (coalesce(goal_value, goal)::DOUBLE AS goal) FROM query_table(panels)
),
grid_workloads AS MATERIALIZED (
    SELECT
        min(panel_order) AS panel_order,
        workload,
        NULL::INTEGER AS batch_size,
        metric,
        goal,
        goal_text,
        NULL::BIGINT AS most_steps
    FROM rows_of_grid
    GROUP BY workload, metric, goal, goal_text
),
outcomes AS MATERIALIZED (
    SELECT * FROM panel_outcomes('grid_workloads', release_name, goal_value, trial_count)
),
spaces AS (
    SELECT
        rows_of_grid.* EXCLUDE (goal_text),
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
