-- Workloads as the chosen ones of their studies alone make them.
WITH chosen AS (
    SELECT
        release,
        workload,
        count(*) AS studies,
        sum(trials)::BIGINT AS trials,
        sum(measurements)::BIGINT AS measurements
    FROM stored.studies
    WHERE is_asked(workload, release, batch_size, $workloads, $release, $batch_sizes)
    GROUP BY release, workload
)
SELECT workloads.* REPLACE (chosen.studies AS studies, chosen.trials AS trials, chosen.measurements AS measurements)
FROM stored.workloads AS workloads
JOIN chosen USING (release, workload)
ORDER BY release, workload;
