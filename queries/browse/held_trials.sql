SELECT DISTINCT trial_id
FROM stored.trial
JOIN stored.study USING (study_id)
JOIN stored.workload USING (workload_id)
JOIN stored.release USING (release_id)
WHERE list_contains($workloads, workload)
    AND ($release IS NULL OR release = $release)
    AND ($batch_sizes IS NULL OR list_contains($batch_sizes, batch_size));
