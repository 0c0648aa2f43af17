-- Workloads as the chosen ones of their studies alone make them.
WITH chosen AS (
    SELECT
        release,
        workload,
        count(*) AS studies,
        sum(trials)::BIGINT AS trials,
        sum(measurements)::BIGINT AS measurements
    FROM stored.studies
    WHERE list_contains($workloads, workload)
        AND ($release IS NULL OR release = $release)
        AND ($batch_sizes IS NULL OR list_contains($batch_sizes, batch_size))
    GROUP BY release, workload
)
SELECT workloads.* REPLACE (chosen.studies AS studies, chosen.trials AS trials, chosen.measurements AS measurements)
FROM stored.workloads AS workloads
JOIN chosen USING (release, workload)
ORDER BY release, workload;
