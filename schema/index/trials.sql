-- ordinal numbers the trials of a study that count, in the order of their ids: COMPLETE ones and, of a study that was
-- searched in lockstep, also those that were dropped, since they were searched like the others and could not have won.
CREATE TABLE stored.trials AS
SELECT
    incoming.*,
    CASE WHEN counts THEN
        count(*) FILTER (counts) OVER (PARTITION BY release, workload, batch_size ORDER BY trial_id)
    END AS ordinal
FROM (
    SELECT *, status = 'COMPLETE' OR status = 'INCOMPLETE' AND search IS NOT NULL AS counts
    FROM incoming
    JOIN (SELECT release, workload, batch_size, search FROM stored.studies) USING (release, workload, batch_size)
) AS incoming;
