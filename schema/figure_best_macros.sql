-- Shared logic of the figures of the best measurement; the lists of curves are those of figure_macros.sql.

-- The points of a figure of the best measurement: y is the lowest value of the metric (the highest of an average
-- precision) within most_steps steps and most_examples examples (steps times batch size), where the list has them; NULL
-- where there is none. A study whose train_steps do not reach the curve's budget has no row, and where there is no budget
-- none that ended at the workload's goal. Ties go to the smaller
-- step, then to the smaller trial id.
CREATE MACRO best_points(curves, release_name, trial_count) AS TABLE
WITH asked AS MATERIALIZED (
    SELECT * FROM curve_studies(curves, release_name, NULL, trial_count)
),
chosen AS MATERIALIZED (
    SELECT *, least(most_steps, floor(most_examples / batch_size)) AS last_step
    FROM asked
    WHERE NOT coalesce(stopped AND most_steps IS NULL AND most_examples IS NULL, false)
    AND (most_steps IS NULL OR train_steps >= most_steps)
    AND (most_examples IS NULL OR train_steps >= most_examples / batch_size)
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
    SELECT DISTINCT
        study_id,
        trial_id,
        metric,
        if(metric LIKE '%average_precision', '-infinity', 'infinity')::DOUBLE AS goal
    FROM taken
    WHERE in_group
),
-- Higher is worse from here on. That every finite value is past the goal above lets DuckDB skip the measurements that
-- lack a metric; a filter of the values alone would have it look for the first one of every metric.
seen AS (
    SELECT question, step, if(metric LIKE '%average_precision', -value, value) AS value, min(trial_id) AS trial_id
    FROM taken
    JOIN improving_values('taken_trials') USING (study_id, trial_id, metric)
    WHERE past AND if(in_group, isfinite(value), false)
    GROUP BY ALL
),
best_of_steps AS (
    SELECT question, step, min(value) AS value, arg_min(trial_id, value) AS trial_id
    FROM seen
    GROUP BY question, step
),
-- A question's best so far at each step that bettered it, so that every budget finds its own among a few rows.
bettered AS MATERIALIZED (
    SELECT question, step, value, trial_id
    FROM best_of_steps
    QUALIFY value < coalesce(
        min(value) OVER (PARTITION BY question ORDER BY step ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
        'infinity'
    )
),
best AS (
    SELECT panel_order, series_order, release_order, chosen.study_id, arg_max(bettered, step) AS best
    FROM chosen
    JOIN bettered ON bettered.question = chosen.question AND step <= coalesce(last_step, step)
    GROUP BY ALL
)
SELECT
    asked.panel,
    asked.series,
    chosen.batch_size AS x,
    if(asked.metric LIKE '%average_precision', -best.value, best.value) AS y,
    panel_order,
    series_order,
    'best' AS kind,
    release,
    asked.workload,
    asked.metric,
    NULL::DOUBLE AS goal,
    NULL::VARCHAR AS goal_text,
    CASE WHEN chosen.study_id IS NOT NULL THEN coalesce(trials, 0) END AS trials,
    asked.asked_trials,
    CASE WHEN chosen.study_id IS NOT NULL THEN coalesce(group_trials, 0) END AS group_trials,
    release_order,
    asked.most_steps,
    asked.most_examples,
    best.step AS step,
    best.trial_id AS trial_id,
    metaparameters['learning_rate'] AS learning_rate,
    metaparameters['momentum'] AS momentum
FROM (
    SELECT DISTINCT ON (panel_order, series_order, release_order)
        panel_order, panel, series_order, series, release_order, release, workload, metric, asked_trials, most_steps, most_examples
    FROM asked
) AS asked
LEFT JOIN chosen USING (panel_order, series_order, release_order, release)
LEFT JOIN counted USING (question)
LEFT JOIN best USING (panel_order, series_order, release_order, study_id)
LEFT JOIN stored.trial AS trial ON trial.study_id = chosen.study_id AND trial.trial_id = best.trial_id
ORDER BY panel_order, series_order, release_order, x;
