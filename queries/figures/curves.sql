/*
How do training, validation and test error of the best trial at each batch size develop?
Six panels a workload: the goal's metric on each split, against steps and against epochs; a curve is the trial that stands
for a study: of the first COMPLETE ones that which reached the goal first or, where none did, which had the best value. A
point is a measurement; read_off marks the one that steps to result reads. A curve is thinned to some 500 points, that one
always kept; step 0, for which a logarithmic axis has no place, is left out.
The parameter workloads holds names of workloads; NULL: the one with the most trials, if possible one that searches the
momentum. Each has its own goal unless the parameter goal is given; a workload without goal is left out. The parameter
trials replaces the 100 below, release names the release, or several joined by commas.
*/
WITH curves AS (
    SELECT
        *,
        1 AS series_order,
        workload AS series,
        NULL::INTEGER AS batch_size,
        100 AS trials
    FROM named_or_largest($release::VARCHAR, $workloads::VARCHAR[], $goal::DOUBLE)
)
SELECT *
FROM learning_curve_points('curves', $release::VARCHAR, NULL, $trials::BIGINT);
