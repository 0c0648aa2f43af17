-- How many measurements each study of a published release has, in the order in which they are published.
SELECT workload, study_id, coalesce(sum(measurements), 0)::BIGINT AS measurements
FROM stored.study
JOIN stored.workload USING (workload_id)
LEFT JOIN stored.trial USING (study_id)
GROUP BY workload, study_id
ORDER BY workload, study_id;
