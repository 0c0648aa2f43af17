-- In what two releases differ, a row a difference. What is in one alone is told once: not the studies of such a
-- workload, nor the trials of such a study. The tables a_… and b_… hold what the other files here return; a_said and
-- b_said hold what workloads and studies say of themselves, a row a name, as text; 0 stands for the batch size of workloads.
WITH both_workloads AS (
    SELECT workload FROM a_workloads SEMI JOIN b_workloads USING (workload)
),
both_studies AS (
    SELECT workload, batch_size FROM a_studies SEMI JOIN b_studies USING (workload, batch_size)
),
both_defined AS (
    SELECT workload
    FROM a_said
    SEMI JOIN b_said USING (workload, batch_size, what, value)
    WHERE what = 'definition' AND value IS NOT NULL
),
both_trials AS (
    SELECT workload, batch_size, trial_id, a_trials AS a, b_trials AS b
    FROM a_trials
    JOIN b_trials USING (workload, batch_size, trial_id)
),
a_values AS (
    UNPIVOT a_trials
    ON COLUMNS(* EXCLUDE (workload, batch_size, trial_id, status, steps, seed, metaparameters, measurements))
    INTO NAME metric VALUE value
),
b_values AS (
    UNPIVOT b_trials
    ON COLUMNS(* EXCLUDE (workload, batch_size, trial_id, status, steps, seed, metaparameters, measurements))
    INTO NAME metric VALUE value
),
found AS (
    SELECT 1 AS place, 'workload' AS kind, workload, NULL AS batch_size, NULL AS trial_id, 'only in A' AS what, NULL AS a, NULL AS b
    FROM a_workloads ANTI JOIN b_workloads USING (workload)
    UNION ALL
    SELECT 1, 'workload', workload, NULL, NULL, 'only in B', NULL, NULL
    FROM b_workloads ANTI JOIN a_workloads USING (workload)
    UNION ALL
    SELECT 2, 'study', workload, batch_size, NULL, 'only in A', NULL, NULL
    FROM a_studies SEMI JOIN both_workloads USING (workload) ANTI JOIN b_studies USING (workload, batch_size)
    UNION ALL
    SELECT 2, 'study', workload, batch_size, NULL, 'only in B', NULL, NULL
    FROM b_studies SEMI JOIN both_workloads USING (workload) ANTI JOIN a_studies USING (workload, batch_size)
    UNION ALL
    SELECT 3, 'trial', workload, batch_size, trial_id, 'only in A', NULL, NULL
    FROM a_trials SEMI JOIN both_studies USING (workload, batch_size) ANTI JOIN b_trials USING (workload, batch_size, trial_id)
    UNION ALL
    SELECT 3, 'trial', workload, batch_size, trial_id, 'only in B', NULL, NULL
    FROM b_trials SEMI JOIN both_studies USING (workload, batch_size) ANTI JOIN a_trials USING (workload, batch_size, trial_id)
    UNION ALL
    SELECT if(batch_size = 0, 1, 2), if(batch_size = 0, 'workload', 'study'), workload, nullif(batch_size, 0), NULL, what, a.value, b.value
    FROM a_said AS a
    FULL JOIN b_said AS b USING (workload, batch_size, what)
    WHERE a.value IS DISTINCT FROM b.value
    AND if(
        batch_size = 0,
        workload IN (FROM both_workloads),
        (workload, batch_size) IN (SELECT (workload, batch_size) FROM both_studies)
    )
    -- Where the one has no definition, as an archive's workloads, that alone is told.
    AND (NOT starts_with(what, 'definition ') OR workload IN (FROM both_defined))
    UNION ALL
    SELECT 3, 'trial', workload, batch_size, trial_id, 'status', a.status, b.status
    FROM both_trials
    WHERE a.status <> b.status
    UNION ALL
    SELECT 3, 'trial', workload, batch_size, trial_id, 'steps', a.steps::VARCHAR, b.steps::VARCHAR
    FROM both_trials
    WHERE a.steps <> b.steps
    UNION ALL
    SELECT 3, 'trial', workload, batch_size, trial_id, 'seed', a.seed::VARCHAR, b.seed::VARCHAR
    FROM both_trials
    WHERE a.seed IS DISTINCT FROM b.seed
    UNION ALL
    SELECT 3, 'trial', workload, batch_size, trial_id, 'metaparameters', a.metaparameters::JSON::VARCHAR, b.metaparameters::JSON::VARCHAR
    FROM both_trials
    WHERE a.metaparameters <> b.metaparameters
    UNION ALL
    SELECT 3, 'trial', workload, batch_size, trial_id, 'measurements', a.measurements::VARCHAR, b.measurements::VARCHAR
    FROM both_trials
    WHERE a.measurements <> b.measurements
    UNION ALL
    -- Of as many measurements, the metrics whose values or steps are others.
    SELECT 3, 'trial', workload, batch_size, trial_id, metric, NULL, NULL
    FROM a_values
    JOIN b_values USING (workload, batch_size, trial_id, metric)
    WHERE a_values.measurements = b_values.measurements AND a_values.value <> b_values.value
    UNION ALL
    SELECT 4, 'steps to result', workload, batch_size, NULL, 'steps', a.steps::VARCHAR, b.steps::VARCHAR
    FROM a_steps AS a
    JOIN b_steps AS b USING (workload, batch_size)
    WHERE a.steps IS DISTINCT FROM b.steps
)
SELECT kind, workload, batch_size, trial_id, what, a, b
FROM found
ORDER BY place, workload, batch_size NULLS FIRST, trial_id NULLS FIRST, what;
