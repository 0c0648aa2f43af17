-- Steps to result of each workload asked for, in the order of asking.
WITH asked AS (
    SELECT release_id, release, workload
    FROM stored.workload
    JOIN stored.release USING (release_id)
    WHERE list_contains($workloads, workload) AND ($release IS NULL OR release = $release)
)
SELECT
    found.release,
    found.workload,
    batch_size,
    steps,
    trial_id,
    value,
    metaparameters['learning_rate'] AS learning_rate,
    metaparameters['momentum'] AS momentum,
    trials,
    goal,
    metric,
    stopped_at
FROM asked,
    -- A call a workload, which leaves the measurements of the others out early.
    LATERAL (SELECT * FROM steps_to_result(asked.release, asked.workload, $metric, $goal, $trials)) AS found
WHERE $batch_sizes IS NULL OR list_contains($batch_sizes, batch_size)
ORDER BY list_position($workloads, found.workload), release_id, batch_size;
