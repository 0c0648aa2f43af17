-- ordinal numbers the trials of a study that count, in the order of their ids: COMPLETE ones and, of a study that was
-- searched in lockstep, also those that were dropped, since they were searched like the others and could not have won.
CREATE TABLE stored.trials AS
WITH numbered AS (
    SELECT
        release,
        workload,
        batch_size,
        trial_id,
        row_number() OVER (PARTITION BY release, workload, batch_size ORDER BY trial_id) AS ordinal
    FROM incoming
    JOIN (SELECT release, workload, batch_size, search FROM stored.studies) USING (release, workload, batch_size)
    WHERE status = 'COMPLETE' OR status = 'INCOMPLETE' AND search IS NOT NULL
)
SELECT incoming.*, ordinal
FROM incoming
LEFT JOIN numbered USING (release, workload, batch_size, trial_id);
