-- The trials of a release. What a metric's values and their steps come to, added up in any order, stands in its column.
WITH asked AS (
    SELECT study_id, workload, batch_size
    FROM stored.study
    JOIN stored.workload USING (workload_id)
    JOIN stored.release USING (release_id)
    WHERE release = $release
),
measured AS (
    SELECT
        study_id,
        trial_id,
        count(*) AS measurements,
        sum(hash(step, COLUMNS(* EXCLUDE (study_id, trial_id, step))))
    FROM stored.measurement
    SEMI JOIN asked USING (study_id)
    GROUP BY study_id, trial_id
)
SELECT
    workload,
    batch_size,
    trial_id,
    status,
    steps,
    seed,
    -- In the order of their names, whatever order they were written in.
    map_from_entries(list_sort(map_entries(metaparameters))) AS metaparameters,
    coalesce(measured.measurements, 0) AS measurements,
    measured.* EXCLUDE (study_id, trial_id, measurements)
FROM stored.trial AS trial
JOIN asked USING (study_id)
LEFT JOIN measured USING (study_id, trial_id);
