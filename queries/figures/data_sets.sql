/*
Relative steps to result by data set, for any workloads: one panel for those that share model, optimizer and sparsity,
one curve a data set. A workload that shares them with no other is left out, and so are subsets of a data set, and a
workload of a collection where another has its data set.
y is the steps divided by the curve's own at the batch size normalise_at, that at which most curves of the panel
reached the goal, of several that of the curves with most points, else the smallest. The parameter workloads holds the
workloads' names; NULL: every one of the release. Each has its own goal unless the parameter goal is given; a workload
without goal is left out. The parameter trials replaces the 100 below, release names the release, or several joined by
commas.
*/
WITH held AS (
    FROM workload_curves($release::VARCHAR, $workloads::VARCHAR[], $goal::DOUBLE, true)
    JOIN (
        SELECT DISTINCT workload, collection, dataset, model, coalesce(sparsity, 0) AS sparsity FROM workloads
    ) USING (workload)
    WHERE collection IS NULL OR collection NOT LIKE '%\_subsets' ESCAPE '\'
    QUALIFY row_number() OVER (
        PARTITION BY dataset, model, optimizer, sparsity ORDER BY collection NULLS FIRST, workload
    ) = 1
),
curves AS (
    SELECT
        min(panel_order) OVER same AS panel_order,
        concat(model, ' with ', optimizer, if(sparsity > 0, format(', {:.0f} % sparse', 100 * sparsity), '')) AS panel,
        row_number() OVER (same ORDER BY panel_order) AS series_order,
        if(sparsity > 0, dataset, concat_ws('/', collection, dataset)) AS series,
        workload,
        metric,
        goal,
        goal_text,
        100 AS trials
    FROM held
    WINDOW same AS (PARTITION BY model, optimizer, sparsity)
    QUALIFY count(*) OVER same > 1
)
SELECT *
FROM normalised_points('curves', $release::VARCHAR, NULL, $trials::BIGINT);
