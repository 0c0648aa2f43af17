-- Shared logic: macros that a query calls by name. Those of the figures alone are in figure_macros.sql.

-- The trials that count: COMPLETE ones; of a study that was searched in lockstep also those that were dropped, since they
-- were searched like the others and could not have won.
CREATE MACRO searched_trials() AS TABLE
SELECT study_id, trial_id
FROM stored.trial AS trial
JOIN stored.study USING (study_id)
WHERE status = 'COMPLETE' OR status = 'INCOMPLETE' AND search IS NOT NULL;

-- Whether a study ended when enough of its trials were past the workload's goal, so that nothing is known of what comes
-- later: of other goals or metrics that none of them had reached by then, and of the best values.
CREATE MACRO stopped_at_goal(search, train_steps) AS coalesce(train_steps < (search->>'most_steps')::BIGINT, false);

-- The first trials of each study, as the figures take them: those that count, sorted by trial id as a number.
CREATE MACRO first_trials(trial_count) AS TABLE
SELECT study_id, trial_id
FROM searched_trials()
QUALIFY row_number() OVER (PARTITION BY study_id ORDER BY trial_id) <= trial_count;

-- The number that a value has to be strictly past, which is the goal itself or, where a value equal to the goal has
-- reached it, the next number on the worse side of it. Batch losses are 32-bit numbers, with others beside them.
CREATE MACRO strict_goal(metric, goal, inclusive) AS CASE
    WHEN NOT inclusive THEN goal
    WHEN metric LIKE '%average_precision' THEN nextafter(goal, '-infinity'::DOUBLE)
    WHEN metric = 'batch_cross_entropy_error' THEN nextafter(goal::FLOAT, 'infinity'::FLOAT)::DOUBLE
    ELSE nextafter(goal, 'infinity'::DOUBLE)
END;

-- The values of one metric of each trial in the common table expression named "taken": study_id, trial_id, metric, goal
-- (which may be NULL), and whether they are strictly past the goal. A branch a metric, because a branch whose metric
-- nobody asked for is not read at all, and the one that is reads that column alone. Batch losses are stored as 32-bit
-- numbers, and compare with the goal as such a number would be stored.
CREATE MACRO metric_values(taken) AS TABLE
SELECT study_id, trial_id, metric, goal, step, train_cross_entropy_error AS value,
    train_cross_entropy_error < goal AS past
FROM stored.measurement
JOIN query_table(taken) USING (study_id, trial_id)
WHERE metric = 'train_cross_entropy_error' AND train_cross_entropy_error IS NOT NULL
UNION ALL
SELECT study_id, trial_id, metric, goal, step, train_classification_error AS value,
    train_classification_error < goal AS past
FROM stored.measurement
JOIN query_table(taken) USING (study_id, trial_id)
WHERE metric = 'train_classification_error' AND train_classification_error IS NOT NULL
UNION ALL
SELECT study_id, trial_id, metric, goal, step, val_cross_entropy_error AS value,
    val_cross_entropy_error < goal AS past
FROM stored.measurement
JOIN query_table(taken) USING (study_id, trial_id)
WHERE metric = 'val_cross_entropy_error' AND val_cross_entropy_error IS NOT NULL
UNION ALL
SELECT study_id, trial_id, metric, goal, step, val_classification_error AS value,
    val_classification_error < goal AS past
FROM stored.measurement
JOIN query_table(taken) USING (study_id, trial_id)
WHERE metric = 'val_classification_error' AND val_classification_error IS NOT NULL
UNION ALL
SELECT study_id, trial_id, metric, goal, step, test_cross_entropy_error AS value,
    test_cross_entropy_error < goal AS past
FROM stored.measurement
JOIN query_table(taken) USING (study_id, trial_id)
WHERE metric = 'test_cross_entropy_error' AND test_cross_entropy_error IS NOT NULL
UNION ALL
SELECT study_id, trial_id, metric, goal, step, test_classification_error AS value,
    test_classification_error < goal AS past
FROM stored.measurement
JOIN query_table(taken) USING (study_id, trial_id)
WHERE metric = 'test_classification_error' AND test_classification_error IS NOT NULL
UNION ALL
SELECT study_id, trial_id, metric, goal, step, train_average_precision AS value,
    train_average_precision > goal AND train_average_precision < 'infinity' AS past
FROM stored.measurement
JOIN query_table(taken) USING (study_id, trial_id)
WHERE metric = 'train_average_precision' AND train_average_precision IS NOT NULL
UNION ALL
SELECT study_id, trial_id, metric, goal, step, val_average_precision AS value,
    val_average_precision > goal AND val_average_precision < 'infinity' AS past
FROM stored.measurement
JOIN query_table(taken) USING (study_id, trial_id)
WHERE metric = 'val_average_precision' AND val_average_precision IS NOT NULL
UNION ALL
SELECT study_id, trial_id, metric, goal, step, test_average_precision AS value,
    test_average_precision > goal AND test_average_precision < 'infinity' AS past
FROM stored.measurement
JOIN query_table(taken) USING (study_id, trial_id)
WHERE metric = 'test_average_precision' AND test_average_precision IS NOT NULL
UNION ALL
SELECT study_id, trial_id, metric, goal, step, batch_cross_entropy_error AS value,
    batch_cross_entropy_error < goal::FLOAT AS past
FROM stored.measurement
JOIN query_table(taken) USING (study_id, trial_id)
WHERE metric = 'batch_cross_entropy_error' AND batch_cross_entropy_error IS NOT NULL;

-- Of the values that metric_values returns for the COMPLETE trials in the common table expression named "taken", those
-- that can be the first past a goal or the first of the best within a budget. Of the workload's own metric these are the
-- improvements, of which there are far fewer than measurements; of other metrics they are all values.
CREATE MACRO improving_values(taken) AS TABLE
WITH asked AS MATERIALIZED (
    SELECT
        study_id,
        trial_id,
        asked.metric AS metric,
        asked.goal AS goal,
        -- Batch losses compare as 32-bit numbers, which improvements are not.
        asked.metric = workload.metric AND asked.metric <> 'batch_cross_entropy_error' AS own,
        asked.metric LIKE '%average_precision' AS higher
    FROM query_table(taken) AS asked
    JOIN stored.study USING (study_id)
    JOIN stored.workload AS workload USING (workload_id)
    UNION ALL
    -- Of no study. Where nothing is asked, DuckDB would find that out only once it has read rows to join with nothing;
    -- with this, it skips them all by their study.
    SELECT 0::SMALLINT, 0, metric, 0, own, higher
    FROM (SELECT unnest([
        'train_cross_entropy_error', 'train_classification_error', 'train_average_precision',
        'val_cross_entropy_error', 'val_classification_error', 'val_average_precision',
        'test_cross_entropy_error', 'test_classification_error', 'test_average_precision',
        'batch_cross_entropy_error'
    ]) AS metric)
    CROSS JOIN (SELECT unnest([true, true, false]) AS own, unnest([true, false, false]) AS higher)
),
asked_others AS MATERIALIZED (
    SELECT study_id, trial_id, metric, goal FROM asked WHERE NOT own
)
SELECT study_id, trial_id, metric, goal, step, value, value < goal AS past
FROM stored.improvement
JOIN asked USING (study_id, trial_id)
WHERE own AND NOT higher
UNION ALL
SELECT study_id, trial_id, metric, goal, step, value, value > goal AND value < 'infinity' AS past
FROM stored.improvement
JOIN asked USING (study_id, trial_id)
WHERE own AND higher
UNION ALL
SELECT study_id, trial_id, metric, goal, step, value, past
FROM metric_values('asked_others');

-- The first measurement of each trial that is strictly past its goal; trials that did not reach it have no row.
CREATE MACRO first_past_goal(taken) AS TABLE
SELECT study_id, trial_id, metric, goal, min(step) AS step, arg_min(value, step) AS value
FROM improving_values(taken)
WHERE past
GROUP BY study_id, trial_id, metric, goal;

-- The studies that a question is about, with its metric and goal, and the number to be strictly past by the workload's
-- rule (see strict_goal). workload_name may be a pattern such as 'mnist/*'; release_name and workload_name may be NULL:
-- then all are asked for; metric_name and goal_value may be NULL: then the workload's own hold.
CREATE MACRO asked_studies(release_name, workload_name, metric_name, goal_value) AS TABLE
SELECT
    release,
    workload.workload AS workload,
    study_id,
    batch_size,
    train_steps,
    search_space,
    stopped_at_goal(search, train_steps) AS stopped,
    coalesce(metric_name, workload.metric) AS metric,
    coalesce(goal_value, workload.goal)::DOUBLE AS goal,
    strict_goal(
        coalesce(metric_name, workload.metric), coalesce(goal_value, workload.goal)::DOUBLE, goal_inclusive
    ) AS strict_goal
FROM stored.study
JOIN stored.workload AS workload USING (workload_id)
JOIN stored.release USING (release_id)
WHERE (workload_name IS NULL OR workload.workload GLOB workload_name)
AND (release_name IS NULL OR release = release_name);

-- Steps to result of every study that is asked for, apart for each value of a metaparameter such as label_smoothing: of
-- its first trials, the measurement with the smallest step whose metric is strictly past the goal (of a workload whose
-- goal is inclusive: past it or equal to it); ties go to the smaller trial id. A group that did not reach it has NULL
-- steps; stopped_at are the steps after which a study ended at the workload's own goal, and NULL steps are then unknown.
-- metaparameter_name may be NULL: then a study is one group.
CREATE MACRO steps_to_result_by(
    metaparameter_name, release_name, workload_name, metric_name, goal_value, trial_count
) AS TABLE
WITH taken AS MATERIALIZED (
    SELECT
        study_id,
        trial_id,
        metric,
        strict_goal AS goal,
        metaparameters[metaparameter_name] AS metaparameter_value
    FROM asked_studies(release_name, workload_name, metric_name, goal_value)
    JOIN first_trials(trial_count) USING (study_id)
    JOIN stored.trial USING (study_id, trial_id)
),
taken_trials AS MATERIALIZED (
    SELECT study_id, trial_id, metric, goal FROM taken
),
reached AS (
    SELECT
        study_id,
        metaparameter_value,
        count(*) AS trials,
        arg_min({'trial_id': trial_id, 'step': step, 'value': value}, (step, trial_id))
            FILTER (step IS NOT NULL) AS first
    FROM taken
    LEFT JOIN first_past_goal('taken_trials') USING (study_id, trial_id, metric, goal)
    GROUP BY study_id, metaparameter_value
)
SELECT
    release,
    workload,
    batch_size,
    metaparameter_value,
    metric,
    goal,
    first.step AS steps,
    first.trial_id AS trial_id,
    first.value AS value,
    coalesce(trials, 0) AS trials,
    metaparameters,
    search_space,
    CASE WHEN stopped THEN train_steps END AS stopped_at
FROM asked_studies(release_name, workload_name, metric_name, goal_value) AS asked
LEFT JOIN reached USING (study_id)
LEFT JOIN stored.trial AS best ON best.study_id = asked.study_id AND best.trial_id = first.trial_id
ORDER BY release, workload, batch_size, metaparameter_value;

-- Steps to result of every study that is asked for, a row a study.
CREATE MACRO steps_to_result(release_name, workload_name, metric_name, goal_value, trial_count) AS TABLE
SELECT * EXCLUDE (metaparameter_value)
FROM steps_to_result_by(NULL, release_name, workload_name, metric_name, goal_value, trial_count);

-- The best measurement of every study that is asked for, apart for each value of a metaparameter: of its first trials,
-- the lowest value of the metric (the highest of an average precision) within most_steps steps and most_examples
-- examples (steps times batch size); either may be NULL. A study whose train_steps do not reach the budget has no row,
-- and without a budget none that ended at the workload's goal.
-- Ties go to the smaller step, then to the smaller trial id.
CREATE MACRO best_measurements_by(
    metaparameter_name, release_name, workload_name, metric_name, most_steps, most_examples, trial_count
) AS TABLE
WITH counted AS (
    SELECT *
    FROM asked_studies(release_name, workload_name, metric_name, NULL)
    WHERE NOT (stopped AND most_steps IS NULL AND most_examples IS NULL)
    AND (most_steps IS NULL OR train_steps >= most_steps)
    AND (most_examples IS NULL OR train_steps * batch_size >= most_examples)
),
taken AS MATERIALIZED (
    SELECT study_id, trial_id, metric, goal, metaparameters[metaparameter_name] AS metaparameter_value
    FROM counted
    JOIN first_trials(trial_count) USING (study_id)
    JOIN stored.trial USING (study_id, trial_id)
),
-- That every finite value is past the goal here lets DuckDB skip the metrics that nobody asks for; a filter of the
-- values alone would have it look for the first one of each.
taken_trials AS MATERIALIZED (
    SELECT
        study_id,
        trial_id,
        metric,
        if(metric LIKE '%average_precision', '-infinity', 'infinity')::DOUBLE AS goal
    FROM taken
),
best_of_trials AS MATERIALIZED (
    SELECT
        study_id,
        trial_id,
        metric,
        if(metric LIKE '%average_precision', max(value), min(value) FILTER (value > '-infinity')) AS value
    FROM improving_values('taken_trials')
    JOIN stored.study USING (study_id)
    WHERE past
    AND (most_steps IS NULL OR step <= most_steps)
    AND (most_examples IS NULL OR step * batch_size <= most_examples)
    GROUP BY study_id, trial_id, metric
),
best_trials AS MATERIALIZED (
    SELECT study_id, trial_id, metric, metaparameter_value, value
    FROM taken
    JOIN best_of_trials USING (study_id, trial_id, metric)
    QUALIFY rank() OVER (
        PARTITION BY study_id, metaparameter_value
        ORDER BY if(metric LIKE '%average_precision', -value, value)
    ) = 1
    -- More than there can be; it tells DuckDB that these are few, and so which side of the join below to keep.
    LIMIT 1_000_000
),
best_trial_values AS MATERIALIZED (
    SELECT taken_trials.* FROM taken_trials SEMI JOIN best_trials USING (study_id, trial_id)
),
best_steps AS MATERIALIZED (
    SELECT study_id, trial_id, value, min(step) AS step
    FROM improving_values('best_trial_values')
    JOIN best_trials USING (study_id, trial_id, value)
    WHERE past
    GROUP BY study_id, trial_id, value
),
best AS (
    SELECT
        study_id,
        metaparameter_value,
        arg_min({'trial_id': trial_id, 'step': step, 'value': best_trials.value}, (step, trial_id)) AS first
    FROM best_trials
    JOIN best_steps USING (study_id, trial_id, value)
    GROUP BY study_id, metaparameter_value
),
groups AS (
    SELECT study_id, metaparameter_value, count(*) AS trials
    FROM taken
    GROUP BY study_id, metaparameter_value
)
SELECT
    release,
    workload,
    batch_size,
    groups.metaparameter_value AS metaparameter_value,
    metric,
    first.value AS value,
    first.step AS step,
    first.trial_id AS trial_id,
    coalesce(trials, 0) AS trials,
    metaparameters
FROM counted
LEFT JOIN groups USING (study_id)
LEFT JOIN best
    ON best.study_id = counted.study_id AND best.metaparameter_value IS NOT DISTINCT FROM groups.metaparameter_value
LEFT JOIN stored.trial AS trial ON trial.study_id = counted.study_id AND trial.trial_id = first.trial_id
ORDER BY release, workload, batch_size, metaparameter_value;

-- The best measurement of every study that is asked for, a row a study.
CREATE MACRO best_measurements(
    release_name, workload_name, metric_name, most_steps, most_examples, trial_count
) AS TABLE
SELECT * EXCLUDE (metaparameter_value)
FROM best_measurements_by(
    NULL, release_name, workload_name, metric_name, most_steps, most_examples, trial_count
);

-- What became of every trial that counts, and every INFEASIBLE one, of the workloads asked for within most_steps steps (which may be
-- NULL), as the scatter plots class them: goal achieved, goal not achieved, infeasible. steps are those to the goal;
-- best is the trial of each study that achieved it first, ties going to the smaller trial id.
CREATE MACRO trial_outcomes(release_name, workload_name, metric_name, goal_value, most_steps) AS TABLE
WITH taken_trials AS MATERIALIZED (
    SELECT study_id, trial_id, metric, strict_goal AS goal
    FROM asked_studies(release_name, workload_name, metric_name, goal_value)
    JOIN searched_trials() USING (study_id)
),
reached AS (
    SELECT study_id, trial_id, step
    FROM first_past_goal('taken_trials')
    WHERE most_steps IS NULL OR step <= most_steps
)
SELECT
    release,
    workload,
    batch_size,
    trial_id,
    CASE
        WHEN status = 'INFEASIBLE' THEN 'infeasible'
        WHEN step IS NOT NULL THEN 'goal achieved'
        ELSE 'goal not achieved'
    END AS outcome,
    step AS steps,
    step IS NOT NULL AND row_number() OVER (PARTITION BY study_id ORDER BY step, trial_id) = 1 AS best,
    metric,
    goal,
    metaparameters
FROM asked_studies(release_name, workload_name, metric_name, goal_value)
JOIN stored.trial USING (study_id)
LEFT JOIN reached USING (study_id, trial_id)
WHERE status = 'INFEASIBLE' OR (study_id, trial_id) IN (SELECT (study_id, trial_id) FROM searched_trials())
ORDER BY release, workload, batch_size, trial_id;
