-- Shared logic: macros that a query calls by name. Those of the figures alone are in figure_macros.sql.

-- The first trials of each study, as the figures take them: COMPLETE trials alone, sorted by trial id as a number.
CREATE MACRO first_trials(trial_count) AS TABLE
SELECT study_id, trial_id
FROM stored.trial
WHERE status = 'COMPLETE'
QUALIFY row_number() OVER (PARTITION BY study_id ORDER BY trial_id) <= trial_count;

-- The first measurement of each trial that is strictly past its goal, for the trials in the common table expression
-- named "taken": study_id, trial_id, metric, goal. Trials that did not reach it have no row. A branch a metric, because
-- a branch whose metric nobody asked for is not read at all, and the one that is reads that column alone. Batch losses
-- are stored as 32-bit numbers, and compare with the goal as such a number would be stored.
CREATE MACRO first_past_goal(taken) AS TABLE
SELECT study_id, trial_id, metric, goal, min(step) AS step, arg_min(value, step) AS value
FROM (
    SELECT study_id, trial_id, metric, goal, step, train_cross_entropy_error AS value
    FROM stored.measurement
    JOIN query_table(taken) USING (study_id, trial_id)
    WHERE metric = 'train_cross_entropy_error' AND train_cross_entropy_error < goal
    UNION ALL
    SELECT study_id, trial_id, metric, goal, step, train_classification_error AS value
    FROM stored.measurement
    JOIN query_table(taken) USING (study_id, trial_id)
    WHERE metric = 'train_classification_error' AND train_classification_error < goal
    UNION ALL
    SELECT study_id, trial_id, metric, goal, step, val_cross_entropy_error AS value
    FROM stored.measurement
    JOIN query_table(taken) USING (study_id, trial_id)
    WHERE metric = 'val_cross_entropy_error' AND val_cross_entropy_error < goal
    UNION ALL
    SELECT study_id, trial_id, metric, goal, step, val_classification_error AS value
    FROM stored.measurement
    JOIN query_table(taken) USING (study_id, trial_id)
    WHERE metric = 'val_classification_error' AND val_classification_error < goal
    UNION ALL
    SELECT study_id, trial_id, metric, goal, step, test_cross_entropy_error AS value
    FROM stored.measurement
    JOIN query_table(taken) USING (study_id, trial_id)
    WHERE metric = 'test_cross_entropy_error' AND test_cross_entropy_error < goal
    UNION ALL
    SELECT study_id, trial_id, metric, goal, step, test_classification_error AS value
    FROM stored.measurement
    JOIN query_table(taken) USING (study_id, trial_id)
    WHERE metric = 'test_classification_error' AND test_classification_error < goal
    UNION ALL
    SELECT study_id, trial_id, metric, goal, step, train_average_precision AS value
    FROM stored.measurement
    JOIN query_table(taken) USING (study_id, trial_id)
    WHERE metric = 'train_average_precision' AND train_average_precision > goal AND train_average_precision < 'infinity'
    UNION ALL
    SELECT study_id, trial_id, metric, goal, step, val_average_precision AS value
    FROM stored.measurement
    JOIN query_table(taken) USING (study_id, trial_id)
    WHERE metric = 'val_average_precision' AND val_average_precision > goal AND val_average_precision < 'infinity'
    UNION ALL
    SELECT study_id, trial_id, metric, goal, step, test_average_precision AS value
    FROM stored.measurement
    JOIN query_table(taken) USING (study_id, trial_id)
    WHERE metric = 'test_average_precision' AND test_average_precision > goal AND test_average_precision < 'infinity'
    UNION ALL
    SELECT study_id, trial_id, metric, goal, step, batch_cross_entropy_error AS value
    FROM stored.measurement
    JOIN query_table(taken) USING (study_id, trial_id)
    WHERE metric = 'batch_cross_entropy_error' AND batch_cross_entropy_error < goal::FLOAT
)
GROUP BY study_id, trial_id, metric, goal;

-- Steps to result of every study of a workload: of its first trials, the measurement with the smallest step whose
-- metric is strictly past the goal; ties go to the smaller trial id. A study that did not reach it has NULL steps.
-- metric_name and goal_value may be NULL: then the workload's own hold.
CREATE MACRO steps_to_result(release_name, workload_name, metric_name, goal_value, trial_count) AS TABLE
WITH chosen AS (
    SELECT
        release,
        workload,
        study_id,
        batch_size,
        search_space,
        coalesce(metric_name, metric) AS metric,
        coalesce(goal_value, goal)::DOUBLE AS goal
    FROM stored.study
    JOIN stored.workload USING (workload_id)
    JOIN stored.release USING (release_id)
    WHERE workload = workload_name AND release = release_name
),
taken_trials AS MATERIALIZED (
    SELECT study_id, trial_id, metric, goal
    FROM chosen
    JOIN first_trials(trial_count) USING (study_id)
),
counted AS (
    SELECT study_id, count(*) AS trials
    FROM taken_trials
    GROUP BY study_id
),
reached AS (
    SELECT study_id, arg_min({'trial_id': trial_id, 'step': step, 'value': value}, (step, trial_id)) AS first
    FROM first_past_goal('taken_trials')
    GROUP BY study_id
)
SELECT
    release,
    workload,
    batch_size,
    metric,
    goal,
    first.step AS steps,
    first.trial_id AS trial_id,
    first.value AS value,
    coalesce(trials, 0) AS trials,
    metaparameters,
    search_space
FROM chosen
LEFT JOIN counted USING (study_id)
LEFT JOIN reached USING (study_id)
LEFT JOIN stored.trial AS best ON best.study_id = chosen.study_id AND best.trial_id = first.trial_id
ORDER BY batch_size;
