-- setting is of replicates, trials of a study with equal metaparameters and other seeds, the smallest trial_id; where the
-- study says that it was no search but one setting, all of its trials are replicates. ordinal numbers the settings of a study
-- that count, in the order of their ids, which without replicates are its trials: COMPLETE ones and, of a study that was
-- searched in lockstep, also those that were dropped, since they were searched like the others and could not have won.
-- told_alone is true where the source tells when the goal was reached, and of no evaluation before that. Objects are compared as
-- the text of the index, which has no spaces, since not every engine has functions for JSON.
CREATE TABLE stored.trials AS
WITH replicated AS (
    SELECT release, workload, batch_size, metaparameters, min(trial_id) AS replicated_setting
    FROM incoming
    WHERE seed IS NOT NULL
    GROUP BY release, workload, batch_size, metaparameters
    HAVING min(seed) < max(seed)
),
single AS (
    SELECT release, workload, batch_size, min(trial_id) AS single_setting
    FROM incoming
    JOIN (SELECT release, workload, batch_size FROM stored.studies WHERE search LIKE '%"design":"one setting"%')
        USING (release, workload, batch_size)
    GROUP BY release, workload, batch_size
),
joined AS (
    SELECT
        incoming.*,
        coalesce(search LIKE '%"method":%', false) AS searched,
        coalesce(single_setting, replicated_setting) AS setting,
        coalesce(producer LIKE '%"evaluations":"goal alone"%', false) AS told_alone
    FROM incoming
    JOIN (SELECT release, workload, batch_size, search FROM stored.studies) USING (release, workload, batch_size)
    LEFT JOIN replicated USING (release, workload, batch_size, metaparameters)
    LEFT JOIN single USING (release, workload, batch_size)
),
numbered AS (
    SELECT
        release,
        workload,
        batch_size,
        trial_id,
        dense_rank() OVER (PARTITION BY release, workload, batch_size ORDER BY coalesce(setting, trial_id)) AS ordinal
    FROM joined
    WHERE status = 'COMPLETE' OR status = 'INCOMPLETE' AND searched
)
SELECT joined.* EXCLUDE (searched, setting, told_alone), ordinal, setting, told_alone
FROM joined
LEFT JOIN numbered USING (release, workload, batch_size, trial_id);
