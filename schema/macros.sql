-- The rules that queries share. Macros that return rows take the name of a table or common table expression as text and pass
-- its columns on, so that a query is a chain of them; see queries/.

-- Whether higher values of a metric are better, by its name.
CREATE MACRO is_maximized(metric) AS regexp_matches(
    metric,
    '(average_precision|accuracy|auc|bleu|clip|dice|intersection_over_union|lddt)$|(^|_)(correlation|exact_match|f1|f1_score|iou|map|meteor|mrr|ndcg|precision|psnr|r2|recall|return|reward|rouge|ssim|success_rate|win_rate)$|^((batch|test|train|val)_)?log_likelihood$'
);

-- Whether a value is past a goal: strictly or, where the goal is inclusive, also equal to it. What is not finite is past none.
CREATE MACRO reached(value, goal, maximize, inclusive) AS
    (CASE WHEN maximize THEN value > goal ELSE value < goal END OR inclusive AND value = goal) AND isfinite(value);

-- A number that is lower the better a value is.
CREATE MACRO cost(value, maximize) AS CASE WHEN maximize THEN -value ELSE value END;

-- Whether a name is one of some names or patterns such as 'mnist/*', joined by commas; NULL means any.
CREATE MACRO named_in(name, names) AS
    names IS NULL OR list_bool_or(list_transform(string_split(names, ','), lambda pattern: name GLOB trim(pattern)));

-- The name of a release, or a name or patterns of workloads; in DuckDB an error that lists the closest ones where it is none of
-- some names. NULL stays.
CREATE MACRO known(name, kind, names) AS (
    SELECT CASE
        WHEN name IS NULL OR bool_or(each = name OR kind = 'workload' AND named_in(each, name)) THEN name
        ELSE error(concat(
            'unknown ', kind, ' ''', name, '''; closest: ',
            array_to_string(arg_max(each, jaro_winkler_similarity(each, name), 3), ', '),
            ' (list them with `dbtool ', kind, 's`)'
        ))
    END
    FROM (SELECT unnest(names) AS each)
);

-- Where a value lies in its range of the search space, from 0 at the lower border to 1 at the upper one, on the scale that
-- was searched; NULL where the range is a list of points or one value wide.
CREATE MACRO position_in_range(value, space) AS CASE
    WHEN json_number(space, 'min_value') IS NULL OR json_number(space, 'max_value') <= json_number(space, 'min_value') THEN NULL
    WHEN json_text(space, 'scale') LIKE 'LOG%' THEN
        ln(value / json_number(space, 'min_value')) / ln(json_number(space, 'max_value') / json_number(space, 'min_value'))
    WHEN json_text(space, 'scale') LIKE 'REVERSE_LOG%' THEN
        ln((1 - value) / (1 - json_number(space, 'min_value')))
        / ln((1 - json_number(space, 'max_value')) / (1 - json_number(space, 'min_value')))
    ELSE (value - json_number(space, 'min_value')) / (json_number(space, 'max_value') - json_number(space, 'min_value'))
END;

-- Whether a value lies in the outer tenth of its range, on either side, which a wider search might beat.
CREATE MACRO at_border(value, space) AS coalesce(position_in_range(value, space) NOT BETWEEN 0.1 AND 0.9, false);

-- Whether a metric is an error of the validation split.
CREATE MACRO is_validation_error(metric) AS metric IN ('val_cross_entropy_error', 'val_classification_error');

-- A number of steps, each counted as many times as its batch is larger than the first one. changes are pairs of a step and the
-- factor by which batches are larger after it, in order.
CREATE MACRO grown_steps(steps, changes) AS steps + coalesce(list_sum(list_transform(
    changes,
    lambda change, place: greatest(steps - change[1], 0) * (change[2] - coalesce(changes[place - 1][2], 1))
)), 0);

-- The changes of the batch size within the trials of a workload, as grown_steps takes them.
CREATE MACRO batch_changes(definition) AS try_cast(json_object_of(definition, 'batch_schedule') AS BIGINT[][]);

-- The training examples that a trial takes in its first steps: steps times the batch size, or more where the workload's
-- definition has a batch_schedule. The batch of one step is the difference to the step before.
CREATE MACRO examples_after(steps, batch_size, definition) AS
    try_cast(batch_size * grown_steps(steps, batch_changes(definition)) AS BIGINT);

-- Whether a study is one of some workloads, of one release and of some batch sizes (each NULL: of any).
CREATE MACRO is_asked(workload, release, batch_size, workload_names, release_name, batch_sizes) AS
    (workload_names IS NULL OR list_contains(workload_names, workload))
    AND (release_name IS NULL OR release = release_name)
    AND (batch_sizes IS NULL OR list_contains(batch_sizes, batch_size));

-- The studies of some workloads, of one release and of some batch sizes (each NULL: of any), with the metric and the goal that
-- they are asked for (each NULL: their workload's own), a row a study.
CREATE MACRO study_goals(workload_names, release_name, batch_sizes, metric_name, goal_value) AS TABLE
SELECT
    release,
    workload,
    batch_size,
    coalesce(metric_name, metric) AS metric,
    coalesce(goal_value, goal)::DOUBLE AS goal,
    goal_inclusive,
    train_steps,
    examples_after(train_steps, batch_size, definition) AS examples,
    stopped,
    search_space,
    search
FROM workloads
JOIN studies USING (release, workload)
WHERE is_asked(workload, release, batch_size, workload_names, release_name, batch_sizes);

-- The values of a column, of the studies that are asked for that metric; asked has release, workload, batch_size and metric.
CREATE MACRO values_of(asked, column_name) AS TABLE
-- The condition on workloads repeats the join's: with it DuckDB does not open the files of other workloads, nor any file where
-- only the empty name is asked for, which no workload has. The limits, which nothing comes near, tell it that rows are few.
SELECT asked.*, trial_id, status, step, COLUMNS(lambda name: name = column_name) AS value
FROM measurements
JOIN (FROM query_table(asked) WHERE metric = column_name LIMIT at_most(1_000_000)) AS asked USING (release, workload, batch_size)
WHERE workload IN (
    SELECT DISTINCT workload FROM query_table(asked) WHERE metric = column_name UNION ALL SELECT '' LIMIT at_most(100_000)
);

-- The measurements of studies as values of a metric: those of the view evaluations, of the studies and metrics that are
-- asked for and of no others. Batch losses are 32-bit numbers: here they are the decimals that they were written as, so that
-- they compare with a goal like all others. Most questions are about errors of the validation split, of which only the
-- column that is asked for is read.
CREATE MACRO evaluations_of(asked) AS TABLE
FROM values_of(asked, 'val_classification_error')
UNION ALL FROM values_of(asked, 'val_cross_entropy_error')
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
        WHEN 'val_average_precision' THEN val_average_precision
        WHEN 'test_cross_entropy_error' THEN test_cross_entropy_error
        WHEN 'test_classification_error' THEN test_classification_error
        WHEN 'test_average_precision' THEN test_average_precision
        WHEN 'batch_cross_entropy_error' THEN batch_cross_entropy_error::VARCHAR::DOUBLE
        ELSE mapped_number(other_metrics, metric)
    END AS value
FROM measurements
JOIN (FROM query_table(asked) WHERE NOT is_validation_error(metric) LIMIT at_most(1_000_000)) AS asked USING (release, workload, batch_size)
WHERE workload IN (
    SELECT DISTINCT workload FROM query_table(asked) WHERE NOT is_validation_error(metric) UNION ALL SELECT '' LIMIT at_most(100_000)
);

-- When trials first got past goals: a row for each that did. goals has release, workload, batch_size, metric, goal,
-- goal_inclusive and maximize, no two rows alike.
CREATE MACRO evaluated_crossings(goals) AS TABLE
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
FROM evaluations_of(goals)
WHERE status <> 'INFEASIBLE' AND reached(value, goal, maximize, goal_inclusive)
GROUP BY ALL;

-- The same of the first of so many evaluations in a row that are all past the goal.
CREATE MACRO sustained_crossings(goals, evaluation_count) AS TABLE
WITH ahead AS (
    SELECT
        *,
        reached(value, goal, maximize, goal_inclusive) AS is_past,
        sum(is_past::INTEGER) OVER (
            PARTITION BY release, workload, batch_size, trial_id, metric, goal, goal_inclusive
            ORDER BY step
            ROWS BETWEEN CURRENT ROW AND evaluation_count - 1 FOLLOWING
        ) AS past_count
    FROM evaluations_of(goals)
    WHERE status <> 'INFEASIBLE' AND value IS NOT NULL
)
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
FROM ahead
WHERE past_count = evaluation_count
GROUP BY ALL;

-- Those of evaluated_crossings, which kept_crossings.sql replaces while many figures are drawn.
CREATE MACRO crossings_of(goals) AS TABLE
FROM evaluated_crossings(goals);

-- The goals of what is asked, as crossings_of takes them; see trial_steps.
CREATE MACRO goals_of(asked) AS TABLE
SELECT DISTINCT release, workload, batch_size, metric, goal, goal_inclusive, is_maximized(metric) AS maximize
FROM query_table(asked)
WHERE coalesce(asked_trials, 1) > 0;

-- The rows of what is asked with their trials, and these with rows of crossings_of, where they have one; see trial_steps.
CREATE MACRO steps_of_trials(asked, crossings) AS TABLE
WITH numbered AS MATERIALIZED (
    SELECT *, row_number() OVER (ORDER BY release, workload, batch_size, metric, goal, asked_trials) AS asked_row
    FROM query_table(asked)
),
ended AS (
    SELECT
        release, workload, batch_size, trial_id, status, ordinal, steps AS trained_steps,
        learning_rate, momentum, metaparameters, setting
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
    setting,
    crossings.steps AS steps,
    crossings.value AS value
FROM numbered AS asked
LEFT JOIN ended USING (release, workload, batch_size)
LEFT JOIN query_table(crossings) AS crossings
    USING (release, workload, batch_size, trial_id, metric, goal, goal_inclusive);

-- The steps that trials took to a goal: a row for each trial that counts (ordinal is its number) or is INFEASIBLE. asked has
-- release, workload, batch_size, metric, goal, goal_inclusive and asked_trials (see study_steps). steps and value are those
-- of the first measurement past the goal; NULL without one, as for every INFEASIBLE trial. A study without trials has one
-- row. asked_row numbers the rows of asked.
CREATE MACRO trial_steps(asked) AS TABLE
WITH goals AS (FROM goals_of(asked)),
crossings AS (FROM crossings_of('goals'))
FROM steps_of_trials(asked, 'crossings');

-- The same to the first of so many evaluations in a row that are all past the goal.
CREATE MACRO sustained_steps(asked, evaluation_count) AS TABLE
WITH goals AS (FROM goals_of(asked)),
crossings AS (FROM sustained_crossings('goals', evaluation_count))
FROM steps_of_trials(asked, 'crossings');

-- Rows of crossings_of in seconds since training began in place of steps, where a source tells them.
CREATE MACRO seconds_of(crossed) AS TABLE
WITH timed AS (
    SELECT release, workload, batch_size, trial_id, step AS steps, seconds
    FROM measurements
    WHERE seconds IS NOT NULL
    AND workload IN (SELECT DISTINCT workload FROM query_table(crossed) UNION ALL SELECT '' LIMIT at_most(100_000))
)
SELECT release, workload, batch_size, trial_id, metric, goal, goal_inclusive, seconds AS steps, value
FROM query_table(crossed)
JOIN timed USING (release, workload, batch_size, trial_id, steps);

-- trial_steps in seconds.
CREATE MACRO trial_seconds(asked) AS TABLE
WITH goals AS (FROM goals_of(asked)),
crossed AS MATERIALIZED (FROM crossings_of('goals')),
crossings AS (FROM seconds_of('crossed'))
FROM steps_of_trials(asked, 'crossings');

-- sustained_steps in seconds.
CREATE MACRO sustained_seconds(asked, evaluation_count) AS TABLE
WITH goals AS (FROM goals_of(asked)),
crossed AS MATERIALIZED (FROM sustained_crossings('goals', evaluation_count)),
crossings AS (FROM seconds_of('crossed'))
FROM steps_of_trials(asked, 'crossings');

-- Rows of trial_steps with the evaluations around the goal: after is the last one that missed it, after which steps is the first
-- that did not. A trial that never passed the goal would have after all its evaluations; of one without any after is 0, and of
-- one of a source that tells of the goal alone the step before.
CREATE MACRO with_misses(trial_rows) AS TABLE
WITH crossed AS MATERIALIZED (
    FROM query_table(trial_rows)
),
studies_asked AS (
    SELECT DISTINCT asked_row, release, workload, batch_size, metric, is_maximized(metric) AS maximize FROM crossed
),
missed AS (
    SELECT asked_row, trial_id, max(step) AS after
    FROM evaluations_of('studies_asked')
    JOIN (SELECT asked_row, trial_id, steps, goal, goal_inclusive FROM crossed) USING (asked_row, trial_id)
    WHERE value IS NOT NULL
    AND step < coalesce(steps, step + 1)
    AND NOT reached(value, goal, maximize, goal_inclusive)
    GROUP BY ALL
)
SELECT crossed.*, coalesce(after, CASE WHEN told_alone THEN steps - 1 ELSE 0 END, 0) AS after
FROM crossed
LEFT JOIN missed USING (asked_row, trial_id)
LEFT JOIN (
    SELECT release, workload, batch_size, trial_id, told_alone
    FROM stored.trials
) USING (release, workload, batch_size, trial_id)
WHERE trial_id IS NOT NULL;

-- trial_steps with the evaluations around the goal.
CREATE MACRO trial_crossings(asked) AS TABLE
WITH crossed_rows AS (FROM trial_steps(asked))
FROM with_misses('crossed_rows');

-- The same to the first of so many evaluations in a row that are all past the goal.
CREATE MACRO sustained_trial_crossings(asked, evaluation_count) AS TABLE
WITH crossed_rows AS (FROM sustained_steps(asked, evaluation_count))
FROM with_misses('crossed_rows');

-- Rows of trial_crossings as a list a workload and goal, as the functions of SQL that Python computes take them.
CREATE MACRO listed_trials(trial_rows) AS TABLE
SELECT
    release,
    workload,
    metric,
    goal,
    goal_inclusive,
    list({
        'batch_size': batch_size,
        'trial_id': trial_id,
        'after': after,
        'steps': steps,
        'setting': setting,
        'learning_rate': learning_rate,
        'momentum': momentum,
        'status': status,
        'search_space': search_space::VARCHAR,
        'search': search::VARCHAR,
        'stopped': stopped
    } ORDER BY batch_size, trial_id) AS trials
FROM query_table(trial_rows)
GROUP BY ALL;

-- Of rows of trial_steps those of equally many trials of each study of a workload: the first best_of that ended, as many as
-- the study with the fewest has. Steps to result are a minimum over a search, so that only those of equal numbers compare.
-- Studies of fewer than fewest_trials are left out.
CREATE MACRO equal_trials(trial_rows, fewest_trials) AS TABLE
SELECT * EXCLUDE (place, ended), min(ended) OVER (PARTITION BY release, workload) AS best_of
FROM (
    SELECT *, row_number() OVER (study ORDER BY trial_id) AS place, count(*) OVER study AS ended
    FROM query_table(trial_rows)
    WHERE trial_id IS NOT NULL
    WINDOW study AS (PARTITION BY release, workload, batch_size)
    QUALIFY ended >= fewest_trials
)
QUALIFY place <= best_of;

-- The ranks (from 1, the best) of the sorted trials of a search between which the median of the best of k lies, with a chance
-- of at least level and for any distribution: that median is the (1 - 2^(-1/k))-quantile of one trial, and the number of
-- trials below a quantile is binomial. low and high are NULL where there are too few trials for a bound.
CREATE MACRO ranks_around_median(trial_count, k, level) AS list_transform(
    -- Chances of more trials than these are at least (1 + level) / 2, by Chebyshev's inequality.
    [list_transform(range(1 + least(trial_count, ceil(
        trial_count * (1 - power(2, -1 / k)) + sqrt(2 * trial_count * (1 - power(2, -1 / k)) * power(2, -1 / k) / (1 - level))
    )::BIGINT)), lambda counted: list_sum(list_transform(range(counted + 1), lambda below: exp(
        lgamma(trial_count + 1) - lgamma(below + 1) - lgamma(trial_count - below + 1)
        + CASE WHEN below > 0 THEN below * ln(1 - power(2, -1 / k)) ELSE 0 END - (trial_count - below) * ln(2) / k
    ))))],
    lambda chances: {
        'low': nullif(len(list_filter(chances, lambda chance: chance < (1 - level) / 2)), 0),
        'high': CASE
            WHEN len(list_filter(chances, lambda chance: chance < (1 + level) / 2)) < trial_count
                THEN len(list_filter(chances, lambda chance: chance < (1 + level) / 2)) + 1
        END
    }
)[1];

-- The mean of two numbers, rounded up where they are whole, as steps are and seconds are not: // rounds whole numbers alone.
CREATE MACRO mean_of_two(first, second) AS first + second - (first + second) // 2;

-- Of rows of trial_steps the middle replicates, by their steps, of the settings that count: of two the lower one, and next_steps
-- are those of the other.
CREATE MACRO middle_replicates(trial_rows) AS TABLE
SELECT asked_row, setting, trial_id, steps, next_steps, replicates
FROM (
    SELECT
        asked_row,
        setting,
        trial_id,
        steps,
        lead(steps) OVER by_steps AS next_steps,
        row_number() OVER by_steps AS place,
        count(*) OVER (PARTITION BY asked_row, setting) AS replicates
    FROM query_table(trial_rows)
    WHERE setting IS NOT NULL AND coalesce(ordinal <= asked_trials, true)
    WINDOW by_steps AS (PARTITION BY asked_row, setting ORDER BY steps NULLS LAST, trial_id)
)
WHERE place = floor((replicates + 1) / 2);

-- Rows of trial_steps with the steps of settings: median_steps is that of a trial without replicates its own steps and, of
-- the replicates of a setting that count, at the middle one their median: of two middle ones the mean, of steps rounded up, and
-- NULL where either never reached the goal. stands tells which rows these are, one a setting.
CREATE MACRO setting_steps(trial_rows) AS TABLE
WITH middles AS (
    SELECT
        asked_row,
        setting,
        trial_id,
        true AS is_middle,
        CASE WHEN replicates % 2 = 1 THEN steps ELSE mean_of_two(steps, next_steps) END AS middle_steps
    FROM middle_replicates(trial_rows)
)
SELECT
    trial_rows.*,
    CASE WHEN setting IS NULL THEN steps ELSE middle_steps END AS median_steps,
    setting IS NULL OR coalesce(is_middle, false) AS stands
FROM query_table(trial_rows) AS trial_rows
LEFT JOIN middles USING (asked_row, setting, trial_id);

-- Rows of trial_steps, one a setting, with the median of its replicates as steps.
CREATE MACRO steps_of_settings(trial_rows) AS TABLE
SELECT * EXCLUDE (steps, median_steps, stands), median_steps AS steps
FROM setting_steps(trial_rows)
WHERE stands;

-- Rows of trial_steps of all studies at their workloads' own goals, one a setting; see steps_of_settings. Searches in lockstep,
-- which end, or drop, trials that might have reached the goal later, are left out unless with_lockstep.
CREATE MACRO settings_at_own_goals(with_lockstep) AS TABLE
WITH asked AS (
    SELECT * EXCLUDE (examples, search_space, search), NULL AS asked_trials
    FROM study_goals(NULL, NULL, NULL, NULL, NULL)
    WHERE with_lockstep OR json_number(search, 'most_steps') IS NULL
),
trial_rows AS (FROM trial_steps('asked'))
FROM steps_of_settings('trial_rows');

-- Steps to result: of the rows of trial_steps those of the settings that were first to the goal, a row for each row of what
-- was asked; see setting_steps. Of each study asked_trials count (NULL: all that do), the first by their numbers; ties in
-- steps go to the smaller trial_id. Where none of them reached the goal, steps and all about the trial are NULL.
CREATE MACRO study_steps(trial_rows) AS TABLE
SELECT
    * EXCLUDE (
        asked_row, trial_id, status, ordinal, trained_steps, learning_rate, momentum, metaparameters, setting, steps, value,
        median_steps, stands, counts, place
    ),
    count(*) FILTER (counts) AS trials,
    min(trial_id) FILTER (place = 1) AS trial_id,
    min(learning_rate) FILTER (place = 1) AS learning_rate,
    min(momentum) FILTER (place = 1) AS momentum,
    any_value(metaparameters) FILTER (place = 1) AS metaparameters,
    min(median_steps) FILTER (place = 1) AS steps,
    min(value) FILTER (place = 1) AS value
FROM (
    SELECT
        *,
        CASE
            WHEN counts AND median_steps IS NOT NULL
                THEN row_number() OVER (PARTITION BY asked_row, counts ORDER BY median_steps NULLS LAST, trial_id)
        END AS place
    FROM (SELECT *, ordinal <= coalesce(asked_trials, ordinal) AS counts FROM setting_steps(trial_rows))
)
GROUP BY ALL;

-- The best value of a metric within a budget: a row for each row of what is asked, which has release, workload, batch_size,
-- metric, asked_trials, most_steps and most_examples (see examples_after); of the last three each may be NULL. Trials
-- count as in study_steps: of the replicates of a setting the median of their best values, and the middle one's trial_id and
-- step, and nothing where a middle one diverged; ties go to the smaller step, then to the smaller trial_id. value, step and all about the trial
-- are NULL where there is none.
CREATE MACRO study_best(asked) AS TABLE
WITH questions AS MATERIALIZED (
    SELECT
        *,
        is_maximized(metric) AS maximize,
        coalesce(asked_trials, 1_000_000_000) AS first_trials,
        row_number() OVER (
            ORDER BY release, workload, batch_size, metric, asked_trials, most_steps, most_examples
        ) AS asked_row
    FROM query_table(asked)
),
studies_asked AS (
    SELECT DISTINCT release, workload, batch_size, metric, maximize, first_trials
    FROM questions
    WHERE first_trials > 0
),
counts AS (
    SELECT
        release,
        workload,
        batch_size,
        first_trials,
        -- Replicates share the number of their setting.
        count(DISTINCT CASE WHEN ordinal <= first_trials THEN ordinal END) AS trials
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
        min(cost(value, maximize)) AS cost,
        first_of(trial_id, cost(value, maximize), trial_id) AS trial_id
    FROM evaluations_of('studies_asked')
    JOIN (SELECT release, workload, batch_size, trial_id, ordinal, setting FROM trials)
        USING (release, workload, batch_size, trial_id)
    WHERE ordinal <= first_trials AND setting IS NULL AND isfinite(value)
    GROUP BY ALL
),
changing AS (
    SELECT release, workload, batch_changes(definition) AS changes FROM workloads
),
replicates AS (
    SELECT release, workload, batch_size, trial_id, ordinal, setting
    FROM trials
    WHERE setting IS NOT NULL AND (ordinal IS NOT NULL OR status = 'INFEASIBLE')
),
replicated AS (
    SELECT asked_row, release, workload, batch_size, metric, maximize, most_steps, most_examples, changes
    FROM questions
    JOIN (SELECT DISTINCT release, workload, batch_size FROM replicates) USING (release, workload, batch_size)
    JOIN changing USING (release, workload)
    WHERE first_trials > 0
),
replicate_best AS (
    SELECT asked_row, trial_id, min(cost(value, maximize)) AS steps, first_of(step, cost(value, maximize), step) AS step
    FROM evaluations_of('replicated')
    WHERE status <> 'INFEASIBLE' AND isfinite(value)
    AND step <= coalesce(most_steps, step)
    AND (most_examples IS NULL OR batch_size * grown_steps(step, changes) <= most_examples)
    GROUP BY asked_row, trial_id
),
-- As rows of trial_steps, for the median of each setting.
replicate_rows AS (
    SELECT asked_row, trial_id, setting, ordinal, first_trials AS asked_trials, steps, step
    FROM questions
    JOIN replicates USING (release, workload, batch_size)
    LEFT JOIN replicate_best USING (asked_row, trial_id)
),
candidates AS (
    SELECT asked_row, step, cost, trial_id
    FROM questions
    JOIN best_at_step USING (release, workload, batch_size, metric, first_trials)
    JOIN changing USING (release, workload)
    WHERE step <= coalesce(most_steps, step)
    AND (most_examples IS NULL OR batch_size * grown_steps(step, changes) <= most_examples)
    UNION ALL
    SELECT asked_row, step, CASE WHEN replicates % 2 = 1 THEN middle.steps ELSE (middle.steps + next_steps) / 2 END AS cost, trial_id
    FROM middle_replicates('replicate_rows') AS middle
    JOIN replicate_best USING (asked_row, trial_id)
    WHERE replicates % 2 = 1 OR next_steps IS NOT NULL
),
best AS (
    SELECT asked_row, step, cost, trial_id
    FROM candidates
    QUALIFY row_number() OVER (PARTITION BY asked_row ORDER BY cost, step, trial_id) = 1
)
SELECT
    questions.* EXCLUDE (maximize, first_trials, asked_row),
    cost(best.cost, questions.maximize) AS value,
    best.step AS step,
    trial_id,
    learning_rate,
    momentum,
    metaparameters,
    coalesce(counts.trials, 0) AS trials
FROM questions
LEFT JOIN best USING (asked_row)
LEFT JOIN counts USING (release, workload, batch_size, first_trials)
LEFT JOIN (SELECT release, workload, batch_size, trial_id, learning_rate, momentum, metaparameters FROM trials) AS trial
    USING (release, workload, batch_size, trial_id);

-- As study_best, but of each trial that counts or is INFEASIBLE: a row for each row of what is asked and each such trial. steps is
-- a number that is lower the better the trial's best value within the budget is, NULL where it has none; it is called so to
-- take the place of the steps of trial_steps. Values of step 0, which are of untrained networks, do not count.
CREATE MACRO trial_best(asked) AS TABLE
WITH questions AS MATERIALIZED (
    SELECT
        *,
        is_maximized(metric) AS maximize,
        -- A number is sooner compared than names.
        dense_rank() OVER (ORDER BY release, workload, batch_size, metric) AS study,
        coalesce(least(most_steps, floor(most_examples / batch_size)), 'infinity'::DOUBLE) AS last_step,
        row_number() OVER (
            ORDER BY release, workload, batch_size, metric, asked_trials, most_steps, most_examples
        ) AS asked_row
    FROM query_table(asked)
),
studies_asked AS (
    SELECT DISTINCT release, workload, batch_size, metric, maximize, study
    FROM questions
),
limits AS (
    SELECT DISTINCT study, last_step FROM questions
),
-- First the best between each limit and the next: then each budget has few rows to look through.
parts AS (
    SELECT limits.study, trial_id, limits.last_step, min(cost) AS cost
    FROM (
        SELECT study, trial_id, step::DOUBLE AS step, cost(value, maximize) AS cost
        FROM evaluations_of('studies_asked')
        WHERE isfinite(value) AND step > 0
    ) AS costs
    ASOF JOIN limits ON costs.study = limits.study AND costs.step <= limits.last_step
    GROUP BY ALL
),
budgets AS (
    SELECT study, trial_id, limits.last_step, min(cost) AS steps
    FROM limits
    JOIN parts USING (study)
    WHERE parts.last_step <= limits.last_step
    GROUP BY ALL
)
SELECT
    questions.* EXCLUDE (maximize, study, last_step),
    trials.trial_id,
    ordinal,
    learning_rate,
    momentum,
    budgets.steps,
    setting
FROM questions
JOIN trials USING (release, workload, batch_size)
LEFT JOIN budgets
    ON (budgets.study, budgets.trial_id, budgets.last_step) = (questions.study, trials.trial_id, questions.last_step)
    AND ordinal IS NOT NULL
WHERE ordinal <= coalesce(asked_trials, ordinal) OR status = 'INFEASIBLE';

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

-- The studies of study_goals; a name of none is an error.
CREATE MACRO studies_named(release_name, workload_name, metric_name, goal_value) AS TABLE
FROM study_goals(NULL, known(release_name, 'release', (SELECT list(release) FROM releases)), NULL, metric_name, goal_value)
WHERE named_in(workload, known(workload_name, 'workload', (SELECT list(DISTINCT workload) FROM workloads)));

-- Steps to result; see study_steps. stopped_at are the steps after which a study ended at its own goal, so that NULL steps
-- say nothing.
CREATE MACRO steps_to_result(release_name, workload_name, metric_name, goal_value, trial_count) AS TABLE
WITH asked AS (
    SELECT * EXCLUDE (examples, search), trial_count AS asked_trials
    FROM studies_named(release_name, workload_name, metric_name, goal_value)
),
trial_rows AS (
    FROM trial_steps('asked')
)
SELECT
    release,
    workload,
    batch_size,
    metric,
    goal,
    steps,
    trial_id,
    value,
    trials,
    learning_rate,
    momentum,
    metaparameters,
    search_space,
    CASE WHEN stopped THEN train_steps END AS stopped_at
FROM study_steps('trial_rows');

-- The best measurement within a budget of steps and of examples, either of which may be NULL; see study_best. A study whose
-- train_steps do not reach the budget has no row and, without a budget, none that ended at its goal.
CREATE MACRO best_measurements(
    release_name, workload_name, metric_name, most_steps, most_examples, trial_count
) AS TABLE
WITH asked AS (
    SELECT *, trial_count AS asked_trials, most_steps AS most_steps, most_examples AS most_examples
    FROM studies_named(release_name, workload_name, metric_name, NULL)
    WHERE train_steps >= coalesce(most_steps, 0)
    AND examples >= coalesce(most_examples, 0)
    AND NOT (stopped AND most_steps IS NULL AND most_examples IS NULL)
)
SELECT release, workload, batch_size, metric, value, step, trial_id, trials, learning_rate, momentum, metaparameters
FROM study_best('asked');
