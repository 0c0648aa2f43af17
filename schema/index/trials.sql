-- setting is of replicates, trials of a study with equal metaparameters and other seeds, the smallest trial_id; where the
-- study says that it was no search but one setting, all of its trials are replicates. ordinal numbers the settings of a study
-- that count, in the order of their ids, which without replicates are its trials: COMPLETE ones and, of a study that was
-- searched in lockstep, also those that were dropped, since they were searched like the others and could not have won.
CREATE TABLE stored.trials AS
WITH replicated AS (
    SELECT release, workload, batch_size, metaparameters, min(trial_id) AS setting
    FROM incoming
    WHERE seed IS NOT NULL
    GROUP BY release, workload, batch_size, metaparameters
    HAVING count(DISTINCT seed) > 1
),
joined AS (
    SELECT
        incoming.*,
        search,
        CASE
            WHEN (search::JSON)->>'design' = 'one setting'
                THEN min(trial_id) OVER (PARTITION BY release, workload, batch_size)
            ELSE replicated.setting
        END AS setting
    FROM incoming
    JOIN (SELECT release, workload, batch_size, search FROM stored.studies) USING (release, workload, batch_size)
    LEFT JOIN replicated USING (release, workload, batch_size, metaparameters)
),
numbered AS (
    SELECT
        release,
        workload,
        batch_size,
        trial_id,
        dense_rank() OVER (PARTITION BY release, workload, batch_size ORDER BY coalesce(setting, trial_id)) AS ordinal
    FROM joined
    WHERE status = 'COMPLETE' OR status = 'INCOMPLETE' AND search IS NOT NULL
)
SELECT joined.* EXCLUDE (search, setting), ordinal, setting
FROM joined
LEFT JOIN numbered USING (release, workload, batch_size, trial_id);
