-- What is wrong with a database, a row a fault, and a row with NULL and the number of measurements.
-- Every column of every measurement is read, so that a damaged block is found.
WITH counted AS (
    SELECT
        study_id,
        trial_id,
        count(*) AS rows_found,
        max(step) AS last_step,
        hash(count(COLUMNS(* EXCLUDE (study_id, trial_id)))) AS every_column
    FROM stored.measurement
    GROUP BY study_id, trial_id
),
compared AS (
    SELECT
        study_id,
        trial_id,
        trial.measurements AS expected,
        coalesce(rows_found, 0) AS found,
        last_step > trial.steps AS too_long,
        trial.study_id IS NULL AS unknown
    FROM stored.trial AS trial
    FULL JOIN counted USING (study_id, trial_id)
)
SELECT
    CASE
        WHEN unknown THEN format('study {} has rows of trial {}, which it does not list', study_id, trial_id)
        WHEN too_long THEN format('trial {} of study {} has rows after its last step', trial_id, study_id)
        ELSE format('trial {} of study {} has {} rows and should have {}', trial_id, study_id, found, expected)
    END AS reason,
    0 AS measurements
FROM compared
WHERE unknown OR too_long OR found <> expected
UNION ALL
SELECT NULL, coalesce(sum(found), 0)::BIGINT FROM compared;
