/*
How are steps to result read off?
A panel a workload; a curve is one of the first COMPLETE trials of the study whose batch size is nearest to 256, a point a
measurement: x the step, y the value of the goal's metric. The first point strictly past the goal on any curve (ties: the
smaller trial id) is the one that is read: read_off; best tells its curve. A curve is thinned to some 200 points, the one
that is read off always kept; step 0 is left out.
The parameter workloads holds names of workloads; NULL: the one with the most trials, if possible one that searches the
momentum. Each has its own goal unless the parameter goal is given; a workload without goal is left out. The parameter
trials replaces the 100 below, release names the release, or several joined by commas.
*/
WITH curves AS (
    SELECT
        panel_order,
        title AS panel,
        1 AS series_order,
        workload AS series,
        workload,
        near_batch_size(256, $release::VARCHAR, [workload]) AS batch_size,
        metric,
        goal,
        goal_text,
        100 AS trials
    FROM named_or_largest($release::VARCHAR, $workloads::VARCHAR[], $goal::DOUBLE)
)
SELECT *
FROM reading_points('curves', $release::VARCHAR, NULL, $trials::BIGINT);
