-- Shared logic of the figures' queries. A query lists its curves in a common table expression named "curves":
-- panel_order, panel, series_order, series, workload, metric, goal, trials (normalised ones also normalise_at),
-- and passes that name; release_name, goal_value and trial_count may be NULL: then the lists' own values hold.

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

-- A goal as a reader says it: val_classification_error, 0.01 -> validation error < 0.01.
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

-- Steps to result of every study behind a figure's curves, by the rules of steps_to_result, a row a curve and batch
-- size. A curve whose workload the release lacks has one row without batch size.
CREATE MACRO curve_steps(curves, release_name, goal_value, trial_count) AS TABLE
WITH asked AS (
    SELECT
        panel_order,
        panel,
        series_order,
        series,
        workload,
        metric,
        coalesce(goal_value, goal)::DOUBLE AS goal,
        coalesce(trial_count, trials)::BIGINT AS asked_trials
    FROM query_table(curves)
),
chosen AS (
    SELECT asked.*, release_name_chosen.release, study_id, batch_size, search_space
    FROM asked
    CROSS JOIN (
        SELECT figure_release(release_name, (SELECT list(workload) FROM asked)) AS release
    ) AS release_name_chosen
    LEFT JOIN (
        SELECT release, workload, study_id, batch_size, search_space
        FROM stored.study
        JOIN stored.workload USING (workload_id)
        JOIN stored.release USING (release_id)
    ) AS held ON held.release = release_name_chosen.release AND held.workload = asked.workload
),
complete AS (
    SELECT study_id, trial_id, row_number() OVER (PARTITION BY study_id ORDER BY trial_id) AS place
    FROM stored.trial
    WHERE status = 'COMPLETE'
),
taken AS (
    SELECT panel_order, series_order, study_id, trial_id, metric, goal
    FROM chosen
    JOIN complete USING (study_id)
    WHERE place <= asked_trials
),
counted AS (
    SELECT panel_order, series_order, study_id, count(*) AS trials
    FROM taken
    GROUP BY ALL
),
taken_trials AS MATERIALIZED (
    SELECT DISTINCT study_id, trial_id, metric, goal
    FROM taken
),
reached AS (
    SELECT panel_order, series_order, study_id, arg_min({'trial_id': trial_id, 'step': step}, (step, trial_id)) AS first
    FROM taken
    JOIN first_past_goal('taken_trials') USING (study_id, trial_id, metric, goal)
    GROUP BY ALL
)
SELECT
    chosen.* EXCLUDE (study_id, search_space),
    first.step AS steps,
    first.trial_id AS trial_id,
    CASE WHEN study_id IS NOT NULL THEN coalesce(trials, 0) END AS trials,
    metaparameters['learning_rate'] AS learning_rate,
    metaparameters['momentum'] AS momentum,
    search_space
FROM chosen
LEFT JOIN counted USING (panel_order, series_order, study_id)
LEFT JOIN reached USING (panel_order, series_order, study_id)
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
    arg_min(steps * batch_size, batch_size) OVER (PARTITION BY panel_order, series_order) / batch_size AS perfect,
    steps,
    trials,
    asked_trials,
    trial_id,
    learning_rate,
    momentum,
    metric,
    goal,
    goal_text(metric, goal) AS goal_text,
    workload,
    release
FROM curve_steps(curves, release_name, goal_value, trial_count)
ORDER BY panel_order, series_order, x;

-- The points of a normalised figure: y is the steps divided by the curve's own steps at the batch size normalise_at,
-- NULL where either is missing or the latter is 0; perfect is the line of perfect scaling, which is 1 at that batch size.
CREATE MACRO normalised_points(curves, release_name, goal_value, trial_count) AS TABLE
SELECT
    panel,
    series,
    x,
    steps / nullif(max(steps) FILTER (x = normalise_at) OVER (PARTITION BY panel_order, series_order), 0) AS y,
    panel_order,
    series_order,
    normalise_at / x AS perfect,
    steps,
    trials,
    asked_trials,
    trial_id,
    learning_rate,
    momentum,
    metric,
    goal,
    goal_text,
    workload,
    release,
    normalise_at
FROM steps_points(curves, release_name, goal_value, trial_count)
JOIN (
    SELECT panel_order, series_order, normalise_at FROM query_table(curves)
) USING (panel_order, series_order)
ORDER BY panel_order, series_order, x;

-- Where a value lies in its range of the search space, from 0 at the lower border to 1 at the upper one, measured on
-- the scale that was searched; NULL where the range is a list of points or one value wide.
CREATE MACRO place_in_range(value, low, high, scale) AS CASE
    WHEN low IS NULL OR high <= low THEN NULL
    WHEN scale LIKE 'LOG%' THEN ln(value / low) / ln(high / low)
    WHEN scale LIKE 'REVERSE_LOG%' THEN ln((1 - value) / (1 - low)) / ln((1 - high) / (1 - low))
    ELSE (value - low) / (high - low)
END;

-- The points of a figure of optimal learning rates: y is the learning rate of the trial that reached the goal first;
-- linear and square_root are the two scaling rules through the curve's first point; at_border tells a best trial within
-- a twentieth of the border of its range, which a wider search might beat.
CREATE MACRO learning_rate_points(curves, release_name, goal_value, trial_count) AS TABLE
WITH ranged AS (
    SELECT
        *,
        (search_space->'learning_rate'->>'min_value')::DOUBLE AS low,
        (search_space->'learning_rate'->>'max_value')::DOUBLE AS high,
        search_space->'learning_rate'->>'scale' AS scale,
        arg_min({'x': batch_size, 'y': learning_rate}, batch_size)
            FILTER (learning_rate IS NOT NULL)
            OVER (PARTITION BY panel_order, series_order) AS first
    FROM curve_steps(curves, release_name, goal_value, trial_count)
)
SELECT
    panel,
    series,
    batch_size AS x,
    learning_rate AS y,
    panel_order,
    series_order,
    first.y * batch_size / first.x AS linear,
    first.y * sqrt(batch_size / first.x) AS square_root,
    low,
    high,
    coalesce(place_in_range(learning_rate, low, high, scale) NOT BETWEEN 0.05 AND 0.95, false) AS at_border,
    steps,
    trials,
    asked_trials,
    trial_id,
    learning_rate,
    momentum,
    learning_rate / (1 - coalesce(momentum, 0)) AS effective_learning_rate,
    metric,
    goal,
    goal_text(metric, goal) AS goal_text,
    workload,
    release
FROM ranged
ORDER BY panel_order, series_order, x;
