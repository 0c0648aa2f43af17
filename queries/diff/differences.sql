-- In what two releases differ, a row a difference. The tables a and b hold what facts.sql and steps.sql return. What is in one alone is
-- told once: not the studies of such a workload, nor the trials of such a study.
WITH facts AS (
    SELECT kind, workload, batch_size, trial_id, what, a.value AS a, b.value AS b
    FROM a
    FULL JOIN b USING (kind, workload, batch_size, trial_id, what)
),
in_both AS (
    SELECT (workload, batch_size, trial_id) FROM facts WHERE what = 'there' AND a = b
),
defined_in_both AS (
    SELECT workload FROM facts WHERE what = 'definition' AND a = b
),
of_unlike_length AS (
    SELECT (workload, batch_size, trial_id) FROM facts WHERE kind = 'trial' AND what = 'measurements' AND a <> b
),
differences AS (
    SELECT
        if(kind = 'metric', 'trial', if(kind = 'definition', 'workload', kind)) AS kind,
        workload,
        nullif(batch_size, 0) AS batch_size,
        nullif(trial_id, -1) AS trial_id,
        CASE WHEN what <> 'there' THEN what WHEN b IS NULL THEN 'only in A' ELSE 'only in B' END AS what,
        if(what = 'there' OR kind = 'metric', NULL, a) AS a,
        if(what = 'there' OR kind = 'metric', NULL, b) AS b
    FROM facts
    WHERE a IS DISTINCT FROM b
    AND CASE
        WHEN what <> 'there' THEN (workload, batch_size, trial_id) IN (FROM in_both)
        WHEN kind = 'trial' THEN (workload, batch_size, -1) IN (FROM in_both)
        WHEN kind = 'study' THEN (workload, 0, -1) IN (FROM in_both)
        ELSE true
    END
    -- Where one has no definition, as workloads of archives, that alone is told; and where the numbers of measurements differ,
    -- so do those of all metrics.
    AND (kind <> 'definition' OR workload IN (FROM defined_in_both))
    AND (kind <> 'metric' OR (workload, batch_size, trial_id) NOT IN (FROM of_unlike_length))
)
FROM differences
ORDER BY
    list_position(['workload', 'study', 'trial', 'steps to result'], kind),
    workload,
    batch_size NULLS FIRST,
    trial_id NULLS FIRST,
    what;
