-- How does the best learning rate grow with batch size?
--
-- A row a workload, at its own goal, from its studies' first 100 trials.
--
-- The effective learning rate is learning_rate / (1 - momentum), of the trial that reached the goal first. slope is that
-- of the least-squares line through its logarithm against that of the batch size: 1 is linear scaling, 0.5 square-root
-- scaling, 0 a rate that does not change. r2 is the share of its variance that the line explains. Below a handful of
-- batch sizes neither says much.
--
-- Change the largest batch size that counts in settings, where NULL is none, or 100 below.
WITH settings(largest_batch_size) AS (
    VALUES (NULL::INTEGER)
),
best AS (
    SELECT
        release,
        workload,
        batch_size,
        metaparameters['learning_rate'] / (1 - coalesce(metaparameters['momentum'], 0)) AS rate
    FROM steps_to_result(NULL, NULL, NULL, NULL, 100)
    CROSS JOIN settings
    WHERE steps IS NOT NULL AND batch_size <= coalesce(largest_batch_size, batch_size)
)
SELECT
    release,
    workload,
    count(*) AS batch_sizes,
    min(batch_size) AS smallest,
    max(batch_size) AS largest,
    arg_min(rate, batch_size) AS rate_at_smallest,
    arg_max(rate, batch_size) AS rate_at_largest,
    round(regr_slope(log2(rate), log2(batch_size)), 2) AS slope,
    round(regr_r2(log2(rate), log2(batch_size)), 2) AS r2
FROM best
WHERE rate > 0 AND isfinite(rate)
GROUP BY release, workload
HAVING count(*) > 1
ORDER BY release, workload;
