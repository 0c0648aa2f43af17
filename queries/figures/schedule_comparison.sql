/*
Does the learning-rate schedule matter, and does that depend on the batch size?
One panel for every data set, model and optimizer that was trained with two or more schedules, one curve a schedule; y is the
best validation error, or the best value of the workload's own metric where that is another. A measured workload's definition
names its schedule; in the archive a schedule is linear where the studies search the decay steps, and constant elsewhere, so
that the archive alone has no such pair: the panel below stands for what could be measured then.
*/
WITH schedules(series_order, series) AS (
    VALUES
        (1, 'constant'),
        (2, 'linear'),
        (3, 'cosine'),
        (4, 'exponential polynomial'),
        (5, 'inverse exponential polynomial'),
        (6, 'exponential')
),
without_data(panel, workload, metric) AS (
    VALUES ('ResNet-8 on CIFAR-10, Nesterov momentum', 'cifar_10/resnet_8/nesterov_momentum', 'val_classification_error')
),
trained AS (
    SELECT
        release,
        workload,
        metric,
        concat(model, ' on ', dataset, if(sparsity > 0, format(', {:g} % sparse', 100 * sparsity), ''), ' with ', optimizer) AS panel,
        collection,
        coalesce(
            replace(replace(any_value(definition)->>'schedule', '_decay', ''), '_', ' '),
            if(bool_or(json_exists(search_space, 'learning_rate_decay_steps')), 'linear', 'constant')
        ) AS series
    FROM workloads
    JOIN studies USING (release, workload)
    WHERE $release::VARCHAR IS NULL OR list_contains(drawn_releases($release::VARCHAR, NULL), release)
    GROUP BY release, workload, metric, model, dataset, sparsity, optimizer, collection
),
paired AS (
    SELECT *
    FROM trained
    WINDOW alike AS (PARTITION BY release, panel, metric)
    QUALIFY min(series) OVER alike <> max(series) OVER alike
),
compared AS (
    SELECT panel, series, workload, metric
    FROM paired
    -- The same network can be in several collections; the one without a name is the plain one.
    QUALIFY row_number() OVER (PARTITION BY panel, metric, series ORDER BY collection NULLS FIRST, workload) = 1
),
curves AS (
    SELECT
        dense_rank() OVER (ORDER BY panel, metric) AS panel_order,
        panel,
        coalesce(series_order, 7) AS series_order,
        series,
        workload,
        metric,
        100 AS asked_trials
    FROM compared
    LEFT JOIN schedules USING (series)
),
asked AS (FROM drawn('curves', $release::VARCHAR, NULL, $trials::BIGINT)),
study_rows AS (FROM study_best('asked'))
SELECT *
FROM best_points('study_rows')
UNION ALL BY NAME
SELECT
    panel,
    series,
    1 AS panel_order,
    series_order,
    release,
    workload,
    metric,
    coalesce($trials::BIGINT, 100) AS asked_trials,
    release_order
FROM without_data
CROSS JOIN schedules
CROSS JOIN (
    SELECT unnest(names) AS release, generate_subscripts(names, 1) AS release_order
    FROM (SELECT drawn_releases($release::VARCHAR, (SELECT list(workload) FROM without_data)) AS names)
)
WHERE NOT EXISTS (FROM compared)
ORDER BY panel_order, series_order, release_order, x;
