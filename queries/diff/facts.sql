-- What a release tells of its workloads, studies and trials, a row a fact, as text. The fact `there` tells that there is
-- such a thing at all. batch_size is 0 in facts of workloads, and trial_id -1 in those of workloads and studies.
WITH measured AS (
    SELECT
        workload,
        batch_size,
        trial_id,
        count(*) AS measurements,
        -- What the values of a metric and their steps come to, added up in any order.
        sum(hash(step, COLUMNS(* EXCLUDE (release, workload, dataset, model, optimizer, batch_size, trial_id, status, step))))
    FROM measurements
    WHERE release = $release
    GROUP BY ALL
),
held_workloads AS (
    SELECT * EXCLUDE (release, studies, trials, measurements)
    FROM workloads
    WHERE release = $release
),
held_studies AS (
    SELECT * EXCLUDE (release, complete, incomplete, infeasible, measurements, stopped)
    FROM studies
    WHERE release = $release
),
held_trials AS (
    UNPIVOT (
        SELECT
            workload,
            batch_size,
            trial_id,
            'yes' AS there,
            status,
            steps::VARCHAR AS steps,
            seed::VARCHAR AS seed,
            metaparameters,
            coalesce(measured.measurements, 0)::VARCHAR AS measurements
        -- Those of the view are numbers alone.
        FROM stored.trials
        LEFT JOIN measured USING (workload, batch_size, trial_id)
        WHERE release = $release
    )
    ON there, status, steps, seed, metaparameters, measurements
    INTO NAME what VALUE value
),
metrics AS (
    UNPIVOT measured
    ON COLUMNS(* EXCLUDE (workload, batch_size, trial_id, measurements))
    INTO NAME metric VALUE digest
)
SELECT 'workload' AS kind, workload, 0 AS batch_size, -1 AS trial_id, 'there' AS what, 'yes' AS value
FROM held_workloads
UNION ALL
SELECT 'workload', workload, 0, -1, key, if(key = 'definition', if(definition IS NULL, NULL, 'given'), value->>'$')
FROM held_workloads, json_each(to_json(held_workloads))
WHERE key <> 'workload'
UNION ALL
-- A definition repeats the columns, and names more.
SELECT 'definition', workload, 0, -1, 'definition ' || key, value->>'$'
FROM held_workloads, json_each(definition)
WHERE key NOT IN (SELECT unnest(json_keys(to_json(held_workloads))) FROM held_workloads)
UNION ALL
SELECT 'study', workload, batch_size, -1, 'there', 'yes'
FROM held_studies
UNION ALL
SELECT 'study', workload, batch_size, -1, key, value->>'$'
FROM held_studies, json_each(to_json(held_studies))
WHERE key NOT IN ('workload', 'batch_size')
UNION ALL
SELECT 'trial', workload, batch_size, trial_id, what, value
FROM held_trials
UNION ALL
SELECT 'metric', workload, batch_size, trial_id, metric, digest::VARCHAR
FROM metrics;
