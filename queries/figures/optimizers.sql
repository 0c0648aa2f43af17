/*
Steps to result by optimizer, for any workloads: one panel for those that share data set, model and goal, one curve an
optimizer. A workload that shares them with no other is left out.
The parameter workloads holds their names; NULL: every workload of the release. Each has its own goal unless the
parameter goal is given; a workload without goal is left out. The parameter trials replaces the 100 below, release names
the release, or several joined by commas.
*/
WITH held AS (
    FROM workload_curves($release::VARCHAR, $workloads::VARCHAR[], $goal::DOUBLE, true)
    JOIN (SELECT DISTINCT workload, collection, dataset, model FROM workloads) USING (workload)
),
curves AS (
    SELECT
        min(panel_order) OVER same AS panel_order,
        concat(model, ' on ', concat_ws('/', collection, dataset)) AS panel,
        row_number() OVER (
            same ORDER BY list_position(['sgd', 'momentum', 'nesterov_momentum'], optimizer) NULLS LAST, optimizer
        ) AS series_order,
        optimizer AS series,
        workload,
        metric,
        goal,
        goal_text,
        100 AS trials
    FROM held
    WINDOW same AS (PARTITION BY collection, dataset, model, metric, goal)
    QUALIFY count(*) OVER same > 1
)
SELECT *
FROM steps_points('curves', $release::VARCHAR, NULL, $trials::BIGINT);
