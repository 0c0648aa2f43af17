SELECT workload, study.* EXCLUDE (study_id, workload_id)
FROM stored.study AS study
JOIN stored.workload USING (workload_id)
JOIN stored.release USING (release_id)
WHERE release = $release;
