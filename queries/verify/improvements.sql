-- Of each study that is there or has improvements: its id, the workload's own metric, and its trials that are not INFEASIBLE.
SELECT study_id, metric, list(trial_id) FILTER (status <> 'INFEASIBLE') AS feasible
FROM (SELECT study_id FROM stored.study UNION SELECT study_id FROM stored.improvement)
LEFT JOIN stored.study USING (study_id)
LEFT JOIN stored.workload USING (workload_id)
LEFT JOIN stored.trial USING (study_id)
GROUP BY study_id, metric
ORDER BY study_id;
