/*
How are steps to result read off?
A curve is one of the first COMPLETE trials of a study of the simple CNN on MNIST, a point a measurement: x the step, y
the validation error. The first point strictly past the goal on any curve (ties: the smaller trial id) is the one that is
read: read_off; best tells its curve. The study is the one whose batch size is nearest to 256; the paper's choice of study
could not be checked. A curve is thinned to some 200 points, the one that is read off always kept; step 0 is left out.
Change the workload, the goal, the batch size or the number of trials below; the parameters goal and trials replace
theirs, release names the release, or several joined by commas.
*/
WITH setting AS (
    SELECT
        'Simple CNN on MNIST' AS panel,
        'mnist/simple_cnn_base/nesterov_momentum' AS workload,
        256 AS wanted_batch_size,
        'val_classification_error' AS metric,
        0.01 AS goal,
        100 AS trials
),
curves AS (
    SELECT
        1 AS panel_order,
        1 AS series_order,
        workload AS series,
        *,
        near_batch_size(wanted_batch_size, $release::VARCHAR, [workload]) AS batch_size
    FROM setting
)
SELECT *
FROM reading_points('curves', $release::VARCHAR, $goal::DOUBLE, $trials::BIGINT);
