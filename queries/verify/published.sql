-- What is wrong with the keys and the order of a published release's files: a row a fault, with the file it is in.
-- That the rows are as many as their trials say, and belong to a trial, a study and a shard, is asked in database.sql.
WITH keys AS (
    SELECT 'workloads' AS place, 'workload_id' AS key, workload_id::VARCHAR AS value FROM stored.workload
    UNION ALL SELECT 'workloads', 'workload', workload FROM stored.workload
    UNION ALL SELECT 'studies', 'study_id', study_id::VARCHAR FROM stored.study
    UNION ALL SELECT 'studies', 'workload_id and batch_size', format('{} and {}', workload_id, batch_size) FROM stored.study
    UNION ALL SELECT 'shards', 'shard_id', shard_id::VARCHAR FROM stored.shard
    UNION ALL SELECT 'shards', 'sha256', sha256 FROM stored.shard
    UNION ALL SELECT 'trials', 'study_id and trial_id', format('{} and {}', study_id, trial_id) FROM stored.trial
),
numbered_workloads AS (
    SELECT workload_id, row_number() OVER (ORDER BY workload) AS right_id FROM stored.workload
),
numbered_studies AS (
    SELECT study_id, row_number() OVER (ORDER BY workload, batch_size) AS right_id
    FROM stored.study
    JOIN stored.workload USING (workload_id)
),
named AS (
    SELECT DISTINCT place, study_id, workload, batch_size FROM published_measurements
),
misnamed AS (
    SELECT named.place AS place, named.study_id AS study_id
    FROM named
    JOIN published_files AS file USING (place)
    LEFT JOIN stored.study AS study ON study.study_id = named.study_id
    LEFT JOIN stored.workload AS stored ON stored.workload_id = study.workload_id
    WHERE named.workload <> file.workload
    OR named.workload IS DISTINCT FROM stored.workload
    OR named.batch_size IS DISTINCT FROM study.batch_size
),
-- A window without an order takes the rows as they come, in one pass; sorting them would take far longer.
followed AS (
    SELECT
        place,
        study_id,
        lag(place) OVER () = place
        AND (study_id, trial_id, step) < (lag(study_id) OVER (), lag(trial_id) OVER (), lag(step) OVER ()) AS is_back
    FROM published_measurements
),
followed_improvements AS (
    SELECT
        study_id,
        lag(study_id) OVER () IS NOT NULL
        AND (study_id, trial_id, step) < (lag(study_id) OVER (), lag(trial_id) OVER (), lag(step) OVER ()) AS is_back
    FROM stored.improvement
)
SELECT format('tables/{}.parquet', place) AS place, format('{} {} is there {} times', key, value, count(*)) AS reason
FROM keys
GROUP BY place, key, value
HAVING count(*) > 1
UNION ALL
SELECT 'tables/workloads.parquet', format('workload {} should have the number {}', workload_id, right_id)
FROM numbered_workloads
WHERE workload_id <> right_id
UNION ALL
SELECT 'tables/studies.parquet', format('study {} should have the number {}', study_id, right_id)
FROM numbered_studies
WHERE study_id <> right_id
UNION ALL
SELECT 'tables/studies.parquet', format('study {} belongs to workload {}, which is not there', study_id, workload_id)
FROM stored.study
ANTI JOIN stored.workload USING (workload_id)
UNION ALL
SELECT 'tables/workloads.parquet', format('workload {} belongs to release {}, which is not there', workload_id, release_id)
FROM stored.workload
ANTI JOIN stored.release USING (release_id)
UNION ALL
SELECT 'tables/workloads.parquet', format('workload {} has no file of measurements', workload_id)
FROM stored.workload
ANTI JOIN published_files USING (workload)
UNION ALL
SELECT place, format('its rows of study {} name another workload or batch size than the study', study_id)
FROM misnamed
UNION ALL
SELECT place, format('its rows of study {} are not sorted by study, trial and step', min(study_id))
FROM followed
WHERE is_back
GROUP BY place
UNION ALL
SELECT 'tables/improvements.parquet', format('its rows of study {} are not sorted by study, trial and step', min(study_id))
FROM followed_improvements
WHERE is_back
HAVING count(*) > 0;
