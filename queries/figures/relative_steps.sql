/*
Steps to result relative to those at one batch size, for any workloads.
The parameter workloads holds their names, drawn in one panel; NULL: every workload of the release, one panel for those
that share data set, optimizer and goal. y is the steps divided by the curve's own at the batch size normalise_at, that
at which most curves of the panel reached the goal, of several that of the curves with most points, else the smallest.
Each has its own goal unless the parameter goal is given; a workload without goal is left out. The parameter trials
replaces the 100 below, release names the release, or several joined by commas.
*/
WITH curves AS (
    SELECT *, 100 AS trials
    FROM workload_curves($release::VARCHAR, $workloads::VARCHAR[], $goal::DOUBLE, false)
)
SELECT *
FROM normalised_points('curves', $release::VARCHAR, NULL, $trials::BIGINT);
