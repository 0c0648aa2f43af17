-- What is wrong with a database: a row a fault, and a last row with NULL and the number of measurements.
-- The hashes of whole rows make DuckDB read every column, and so find a damaged block.
-- A window without an order takes the rows as they are stored, in one pass; ORDER BY rowid would sort them all first.
WITH followed AS (
    SELECT
        study_id,
        trial_id,
        step,
        coalesce(lag(study_id) OVER () = study_id AND lag(trial_id) OVER () = trial_id, false) AS goes_on,
        lag(step) OVER () AS previous_step
    FROM stored.measurement
),
-- A later load adds trials behind those of other studies, so only the rows of a trial have to lie together.
placed AS (
    SELECT
        study_id,
        trial_id,
        count(*) FILTER (NOT goes_on) AS places,
        count(*) FILTER (goes_on AND step < previous_step) AS steps_back,
        count(*) FILTER (goes_on AND step = previous_step) AS steps_repeated
    FROM followed
    WHERE NOT goes_on OR step <= previous_step
    GROUP BY study_id, trial_id
),
counted AS (
    SELECT
        study_id,
        trial_id,
        count(*) AS rows_found,
        max(step) AS last_step,
        bit_xor(hash(measurement)) AS contents
    FROM stored.measurement AS measurement
    GROUP BY study_id, trial_id
),
compared AS (
    SELECT
        study_id,
        trial_id,
        trial.measurements AS expected,
        coalesce(rows_found, 0) AS found,
        -- An archive's rows are kept as they were written, whatever its metadata says.
        trial.shard_id IS NOT NULL AND last_step > trial.steps AS too_long,
        trial.study_id IS NULL AS unknown,
        trial.shard_id IS NOT NULL AND shard.shard_id IS NULL AS no_shard,
        study.study_id IS NULL AS no_study,
        places > 1 OR steps_back > 0 AS unsorted,
        -- The published archive repeats steps; shards never do.
        trial.shard_id IS NOT NULL AND steps_repeated > 0 AS repeated,
        contents
    FROM stored.trial AS trial
    FULL JOIN counted USING (study_id, trial_id)
    LEFT JOIN placed USING (study_id, trial_id)
    LEFT JOIN stored.shard AS shard ON shard.shard_id = trial.shard_id AND shard.study_id = trial.study_id
    LEFT JOIN stored.study AS study USING (study_id)
),
shards AS (
    SELECT shard.name, shard.measurements AS expected, coalesce(sum(trial.measurements), 0) AS found
    FROM stored.shard AS shard
    LEFT JOIN stored.trial AS trial USING (shard_id)
    GROUP BY shard_id, shard.name, shard.measurements
),
others AS (
    SELECT hash(schema_version) AS contents FROM stored.schema_version AS schema_version
    UNION ALL SELECT hash(release) FROM stored.release AS release
    UNION ALL SELECT hash(workload) FROM stored.workload AS workload
    UNION ALL SELECT hash(study) FROM stored.study AS study
    UNION ALL SELECT hash(shard) FROM stored.shard AS shard
    UNION ALL SELECT hash(trial) FROM stored.trial AS trial
    UNION ALL SELECT contents FROM compared
)
SELECT
    CASE
        WHEN unknown THEN format('study {} has rows of trial {}, which it does not list', study_id, trial_id)
        WHEN no_study THEN format('trial {} belongs to study {}, which is not there', trial_id, study_id)
        WHEN no_shard THEN format('trial {} of study {} names a shard that is not there', trial_id, study_id)
        WHEN too_long THEN format('trial {} of study {} has rows after its last step', trial_id, study_id)
        WHEN found = expected AND unsorted
            THEN format('the rows of trial {} of study {} are not sorted by step in one place', trial_id, study_id)
        WHEN found = expected AND repeated THEN format('trial {} of study {} has a step twice', trial_id, study_id)
        ELSE format('trial {} of study {} has {} rows and should have {}', trial_id, study_id, found, expected)
    END AS reason,
    0 AS measurements,
    NULL AS contents
FROM compared
WHERE unknown OR no_study OR no_shard OR too_long OR found <> expected OR unsorted OR repeated
UNION ALL
SELECT format('the trials of shard {} have {} measurements and should have {}', name, found, expected), 0, NULL
FROM shards
WHERE found <> expected
UNION ALL
SELECT NULL, (SELECT coalesce(sum(found), 0)::BIGINT FROM compared), bit_xor(contents)
FROM others;
