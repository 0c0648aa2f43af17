-- ordinal numbers the trials of a study that count, in the order of their ids: COMPLETE ones and, of a study that was
-- searched in lockstep, also those that were dropped, since they were searched like the others and could not have won.
-- setting is of replicates, trials of a study with equal metaparameters and other seeds, the smallest trial_id; where the
-- study says that it was no search but one setting, all of its trials are replicates.
CREATE TABLE stored.trials AS
WITH numbered AS (
    SELECT
        release,
        workload,
        batch_size,
        trial_id,
        row_number() OVER (PARTITION BY release, workload, batch_size ORDER BY trial_id) AS ordinal,
        if(
            (search::JSON)->>'design' = 'one setting',
            min(trial_id) OVER (PARTITION BY release, workload, batch_size),
            NULL
        ) AS only_setting
    FROM incoming
    JOIN (SELECT release, workload, batch_size, search FROM stored.studies) USING (release, workload, batch_size)
    WHERE status = 'COMPLETE' OR status = 'INCOMPLETE' AND search IS NOT NULL
),
replicated AS (
    SELECT release, workload, batch_size, metaparameters, min(trial_id) AS setting
    FROM incoming
    WHERE seed IS NOT NULL
    GROUP BY release, workload, batch_size, metaparameters
    HAVING count(DISTINCT seed) > 1
)
SELECT incoming.*, ordinal, coalesce(only_setting, setting) AS setting
FROM incoming
LEFT JOIN numbered USING (release, workload, batch_size, trial_id)
LEFT JOIN replicated USING (release, workload, batch_size, metaparameters);
