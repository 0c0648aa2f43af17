/*
The learning rate of the trial that reached the goal first, against batch size, one panel a workload.
The parameter workloads holds their names; NULL: every workload of the release. Each has its own goal unless the
parameter goal is given; a workload without goal is left out. The parameter trials replaces the 100 below, release names
the release.
*/
WITH chosen AS (
    SELECT *
    FROM workloads
    WHERE release = figure_release($release::VARCHAR, $workloads::VARCHAR[])
        AND ($workloads::VARCHAR[] IS NULL OR list_contains($workloads::VARCHAR[], workload))
        AND coalesce($goal::DOUBLE, goal) IS NOT NULL
        AND studies > 0
),
curves AS (
    SELECT
        row_number() OVER (
            ORDER BY collection NULLS FIRST, dataset, optimizer, regexp_replace(model, '\d+', '', 'g'), regexp_extract_all(model, '\d+')::INTEGER[]
        ) AS panel_order,
        concat(model, ' on ', concat_ws('/', collection, dataset), ' with ', optimizer) AS panel,
        1 AS series_order,
        model AS series,
        workload,
        metric,
        coalesce($goal::DOUBLE, goal) AS goal,
        100 AS trials
    FROM chosen
)
SELECT *
FROM learning_rate_points('curves', figure_release($release::VARCHAR, $workloads::VARCHAR[]), NULL, $trials::BIGINT);
