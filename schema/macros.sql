-- Shared logic: macros that a query calls by name. Those of the figures alone are in figure_macros.sql.

-- The first trials of each study, as the figures take them: COMPLETE trials alone, sorted by trial id as a number.
CREATE MACRO first_trials(trial_count) AS TABLE
SELECT study_id, trial_id
FROM stored.trial
WHERE status = 'COMPLETE'
QUALIFY row_number() OVER (PARTITION BY study_id ORDER BY trial_id) <= trial_count;

-- The value of the named metric in a row of stored.measurement, which is passed whole.
CREATE MACRO metric_value(metric, measured) AS CASE metric
    WHEN 'train_cross_entropy_error' THEN measured.train_cross_entropy_error
    WHEN 'train_classification_error' THEN measured.train_classification_error
    WHEN 'train_average_precision' THEN measured.train_average_precision
    WHEN 'val_cross_entropy_error' THEN measured.val_cross_entropy_error
    WHEN 'val_classification_error' THEN measured.val_classification_error
    WHEN 'val_average_precision' THEN measured.val_average_precision
    WHEN 'test_cross_entropy_error' THEN measured.test_cross_entropy_error
    WHEN 'test_classification_error' THEN measured.test_classification_error
    WHEN 'test_average_precision' THEN measured.test_average_precision
    WHEN 'batch_cross_entropy_error' THEN measured.batch_cross_entropy_error
END;

-- Whether a value is strictly past the goal: above it for average precision, below it for errors.
CREATE MACRO past_goal(metric, value, goal) AS
    NOT isnan(value) AND CASE WHEN metric LIKE '%average_precision' THEN value > goal ELSE value < goal END;

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
        coalesce(goal_value, goal) AS goal
    FROM stored.study
    JOIN stored.workload USING (workload_id)
    JOIN stored.release USING (release_id)
    WHERE workload = workload_name AND release = release_name
),
counted AS (
    SELECT study_id, count(*) AS trials
    FROM first_trials(trial_count)
    GROUP BY study_id
),
evaluated AS (
    SELECT
        study_id,
        trial_id,
        step,
        metric_value(metric, measurement) AS value,
        metric,
        goal
    FROM stored.measurement
    JOIN chosen USING (study_id)
    SEMI JOIN first_trials(trial_count) USING (study_id, trial_id)
),
reached AS (
    SELECT study_id, arg_min({'trial_id': trial_id, 'step': step, 'value': value}, (step, trial_id)) AS first
    FROM evaluated
    WHERE past_goal(metric, value, goal)
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
