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
    coalesce(train_steps < json_number(search::JSON, 'most_steps'), false) AS stopped
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
    number_map(metaparameters) AS metaparameters,
    seed,
    measurements,
    ordinal,
    name,
    shard,
    producer::JSON AS producer,
    metaparameters::JSON AS settings,
    setting
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
    number_map(other_metrics) AS other_metrics,
    mapped_number(number_map(other_metrics), 'seconds') AS seconds
FROM stored.measurements;

-- The values of a column of measurements.
CREATE MACRO values_in(measured, column_name) AS TABLE
SELECT
    release,
    workload,
    batch_size,
    trial_id,
    status,
    step,
    column_name AS metric,
    COLUMNS(lambda name: name = column_name) AS value,
    mapped_number(number_map(other_metrics), 'seconds') AS seconds
FROM query_table(measured)
WHERE COLUMNS(lambda name: name = column_name) IS NOT NULL;

-- The metrics in long form, a row a value, for queries that take the metric as a value. Batch losses are 32-bit numbers;
-- here they are the decimals that they were written as, so that they compare with a goal like all others.
-- With the name held, creating the view opens the shards once and not once a metric.
CREATE VIEW evaluations AS
WITH held AS NOT MATERIALIZED (FROM stored.measurements)
FROM values_in('held', 'train_cross_entropy_error')
UNION ALL FROM values_in('held', 'train_classification_error')
UNION ALL FROM values_in('held', 'train_average_precision')
UNION ALL FROM values_in('held', 'val_cross_entropy_error')
UNION ALL FROM values_in('held', 'val_classification_error')
UNION ALL FROM values_in('held', 'val_average_precision')
UNION ALL FROM values_in('held', 'test_cross_entropy_error')
UNION ALL FROM values_in('held', 'test_classification_error')
UNION ALL FROM values_in('held', 'test_average_precision')
UNION ALL
SELECT * REPLACE (value::VARCHAR::DOUBLE AS value)
FROM values_in('held', 'batch_cross_entropy_error')
UNION ALL
SELECT
    release,
    workload,
    batch_size,
    trial_id,
    status,
    step,
    metric,
    mapped_number(number_map(other_metrics), metric) AS value,
    mapped_number(number_map(other_metrics), 'seconds') AS seconds
FROM (SELECT *, unnest(json_names(other_metrics)) AS metric FROM held WHERE other_metrics IS NOT NULL)
WHERE metric <> 'seconds' AND mapped_number(number_map(other_metrics), metric) IS NOT NULL;
