-- Which trials diverged?
--
-- The number of trials that diverged (INFEASIBLE), and their learning rates: a row for each study. Trials that were not
-- finished do not count.
SELECT
    release,
    workload,
    batch_size,
    count(*) FILTER (status = 'COMPLETE') AS feasible,
    count(*) FILTER (status = 'INFEASIBLE') AS infeasible,
    round(infeasible / (feasible + infeasible), 3) AS infeasible_share,
    max(learning_rate) FILTER (status = 'COMPLETE') AS largest_feasible_rate,
    min(learning_rate) FILTER (status = 'INFEASIBLE') AS smallest_infeasible_rate
FROM trials
GROUP BY release, workload, batch_size
ORDER BY release, workload, batch_size;
