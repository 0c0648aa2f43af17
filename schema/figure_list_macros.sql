-- Lists of curves, for figures whose workloads are found in the database.

-- The curves of the sparsity study: for each network of the common table expression named "networks" (panel_order,
-- panel, dataset, model, optimizer, metric, goal, trials) one for each sparsity of the one named "sparsities"
-- (series_order, series, sparsity). There the goal is reached at it, not only past it, so that the next higher number
-- stands for it. goal_value may be NULL: then the list's own hold.
CREATE MACRO sparse_curves(networks, sparsities, goal_value) AS TABLE
SELECT
    panel_order,
    panel,
    series_order,
    series,
    sparsity,
    coalesce(
        held.workload,
        concat_ws('/', format('sparsity_{:.0f}', 100 * sparsity), dataset, model, optimizer)
    ) AS workload,
    metric,
    strict_goal(metric, coalesce(goal_value, goal)::DOUBLE, true) AS goal,
    inclusive_goal_text(metric, coalesce(goal_value, goal)::DOUBLE) AS goal_text,
    trials
FROM query_table(networks)
CROSS JOIN query_table(sparsities)
-- A dense network is in several collections; that of this study is trained by its protocol, and where it is not there,
-- the one without a name comes nearest.
LEFT JOIN (
    SELECT dataset, model, optimizer, sparsity, arg_min(workload, (collection IS NULL, workload)) AS workload
    FROM stored.workload
    WHERE collection IS NULL OR collection = 'sparsity_0' OR sparsity > 0
    GROUP BY ALL
) AS held USING (dataset, model, optimizer, sparsity);

-- The curves of the figures that draw any workloads: those named, all in one panel, or, where workload_names is NULL,
-- those of the releases with a panel for those that share data set, optimizer and goal; a panel each where apart is
-- true. Each has its own goal (of several releases: the first one's) unless goal_value is given, and its own rule
-- whether the goal is inclusive; goal is the number to be strictly past. A workload without goal is left out. A curve is
-- named by what tells it from the others of its panel, the panel by what they share.
CREATE MACRO workload_curves(release_name, workload_names, goal_value, apart) AS TABLE
WITH chosen AS (
    SELECT
        workloads.* REPLACE (strict_goal(metric, coalesce(goal_value, goal)::DOUBLE, goal_inclusive) AS goal),
        if(
            goal_inclusive,
            inclusive_goal_text(metric, coalesce(goal_value, goal)::DOUBLE),
            goal_text(metric, coalesce(goal_value, goal)::DOUBLE)
        ) AS goal_text,
        concat_ws('/', collection, dataset) AS place,
        regexp_replace(model, '\d+', '', 'g') AS family,
        regexp_extract_all(model, '\d+')::INTEGER[] AS sizes
    FROM workloads
    JOIN figure_releases(release_name, workload_names) USING (release)
    WHERE (workload_names IS NULL OR list_contains(workload_names, workload))
    AND coalesce(goal_value, goal) IS NOT NULL
    AND studies > 0
    QUALIFY row_number() OVER (PARTITION BY workload ORDER BY release_order) = 1
),
panelled AS (
    SELECT
        *,
        CASE
            WHEN apart THEN row_number() OVER (ORDER BY collection NULLS FIRST, dataset, optimizer, family, sizes, workload)
            WHEN workload_names IS NOT NULL THEN 1
            ELSE dense_rank() OVER (ORDER BY collection NULLS FIRST, dataset, optimizer, metric, goal)
        END AS panel_order
    FROM chosen
),
ordered AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY panel_order ORDER BY dataset, family, sizes, optimizer, workload) AS series_order,
        min(place) OVER panel <> max(place) OVER panel AS datasets_differ,
        min(model) OVER panel <> max(model) OVER panel AS models_differ,
        min(optimizer) OVER panel <> max(optimizer) OVER panel AS optimizers_differ
    FROM panelled
    WINDOW panel AS (PARTITION BY panel_order)
)
SELECT
    panel_order,
    CASE
        WHEN apart THEN concat(model, ' on ', place, ' with ', optimizer)
        ELSE concat_ws(
            ' ',
            CASE WHEN NOT models_differ THEN model END,
            CASE WHEN NOT models_differ AND NOT datasets_differ THEN 'on' END,
            CASE WHEN NOT datasets_differ THEN place END,
            CASE WHEN NOT optimizers_differ THEN concat('with ', optimizer) END
        )
    END AS panel,
    series_order,
    coalesce(
        nullif(concat_ws(
            ' ',
            CASE WHEN models_differ OR NOT datasets_differ AND NOT optimizers_differ THEN model END,
            CASE WHEN datasets_differ THEN place END,
            CASE WHEN optimizers_differ THEN optimizer END
        ), ''),
        workload
    ) AS series,
    workload,
    metric,
    goal,
    goal_text,
    optimizer
FROM ordered;
