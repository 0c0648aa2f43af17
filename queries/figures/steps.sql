/*
Steps to result against batch size for any workloads.
The parameter workloads holds their names, drawn in one panel; NULL: every workload of the release, one panel for those
that share data set, optimizer and goal. Each has its own goal unless the parameter goal is given; a workload without
goal is left out. The parameter trials replaces the 100 below, release names the release.
*/
WITH chosen AS (
    SELECT *, coalesce($goal::DOUBLE, goal) AS asked_goal
    FROM workloads
    WHERE release = figure_release($release::VARCHAR, $workloads::VARCHAR[])
        AND ($workloads::VARCHAR[] IS NULL OR list_contains($workloads::VARCHAR[], workload))
        AND coalesce($goal::DOUBLE, goal) IS NOT NULL
        AND studies > 0
),
panelled AS (
    SELECT
        *,
        CASE
            WHEN $workloads::VARCHAR[] IS NOT NULL THEN 1
            ELSE dense_rank() OVER (ORDER BY collection NULLS FIRST, dataset, optimizer, metric, asked_goal)
        END AS panel_order
    FROM chosen
),
-- A curve is named by what tells it from the others of its panel, the panel by what they share.
named AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY panel_order ORDER BY dataset, regexp_replace(model, '\d+', '', 'g'), regexp_extract_all(model, '\d+')::INTEGER[], optimizer
        ) AS series_order,
        min(dataset) OVER panel <> max(dataset) OVER panel
            OR min(coalesce(collection, '')) OVER panel <> max(coalesce(collection, '')) OVER panel AS datasets_differ,
        min(model) OVER panel <> max(model) OVER panel AS models_differ,
        min(optimizer) OVER panel <> max(optimizer) OVER panel AS optimizers_differ
    FROM panelled
    WINDOW panel AS (PARTITION BY panel_order)
),
curves AS (
    SELECT
        panel_order,
        concat_ws(
            ' ',
            CASE WHEN NOT models_differ THEN model END,
            CASE WHEN NOT models_differ AND NOT datasets_differ THEN 'on' END,
            CASE WHEN NOT datasets_differ THEN concat_ws('/', collection, dataset) END,
            CASE WHEN NOT optimizers_differ THEN concat('with ', optimizer) END
        ) AS panel,
        series_order,
        coalesce(
            nullif(concat_ws(
                ' ',
                CASE WHEN models_differ OR NOT datasets_differ AND NOT optimizers_differ THEN model END,
                CASE WHEN datasets_differ THEN concat_ws('/', collection, dataset) END,
                CASE WHEN optimizers_differ THEN optimizer END
            ), ''),
            workload
        ) AS series,
        workload,
        metric,
        asked_goal AS goal,
        100 AS trials
    FROM named
)
SELECT *
FROM steps_points('curves', figure_release($release::VARCHAR, $workloads::VARCHAR[]), NULL, $trials::BIGINT);
