/*
Critical batch sizes (tradeoff) of the workloads of all releases, and whether all curves of steps to result are one. Those with
the narrowest intervals are drawn, first one of each workload; x is the critical batch size or, where a bound alone is known
(verdict), the bound, and y the line. In the second panel x is the batch size divided by the critical one, y the steps to result
divided by the fewest of any batch size, as fitted. The statistics are those of `dbtool scaling`, which Python computes in
scaling_of_trials; the parameter trials is the number at which searches are compared.
*/
WITH asked AS (
    SELECT * EXCLUDE (train_steps), NULL::INTEGER AS asked_trials
    FROM study_goals($workloads::VARCHAR[], NULL, NULL, NULL, $goal::DOUBLE)
    WHERE goal IS NOT NULL
    AND named_in(release, $release::VARCHAR)
),
trial_rows AS (FROM trial_crossings('asked')),
fitted AS MATERIALIZED (
    SELECT * EXCLUDE (trials), scaling_of_trials(trials, coalesce($trials::BIGINT, 0)) AS found
    FROM listed_trials('trial_rows')
),
findings AS (
    SELECT
        * EXCLUDE (found),
        unnest(found),
        dense_rank() OVER (ORDER BY list_position(string_split($release::VARCHAR, ','), release) NULLS LAST, position)
            AS release_order
    FROM fitted
    JOIN (SELECT release, position FROM stored.releases) USING (release)
    WHERE coalesce(found.critical, found.low, found.high) IS NOT NULL
),
numbered AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY workload ORDER BY high / low NULLS LAST, release_order) AS of_workload
    FROM findings
),
chosen AS (
    SELECT *, row_number() OVER (ORDER BY of_workload, high / low NULLS LAST, workload, release_order) <= 45 AS is_drawn
    FROM numbered
),
points AS (
    SELECT
        1 AS panel_order,
        'Critical batch size by workload' AS panel,
        'forest' AS kind,
        coalesce(critical, low, high) AS x,
        CASE
            WHEN is_drawn
                THEN row_number() OVER (PARTITION BY is_drawn ORDER BY coalesce(critical, low, high), workload, release_order)
        END AS y,
        * EXCLUDE (studies, of_workload, is_drawn, position)
    FROM chosen
    UNION ALL BY NAME
    SELECT
        2 AS panel_order,
        'Steps to result in units of each curve' AS panel,
        'units' AS kind,
        batch_size / critical AS x,
        steps / fewest_steps AS y,
        * EXCLUDE (low, high, bend, verdict)
    FROM (SELECT * EXCLUDE (studies, position), unnest(studies, recursive := true) FROM findings WHERE verdict = 'identified')
    WHERE steps > 0
    UNION ALL BY NAME
    SELECT 3 AS panel_order, workload AS panel, workload AS series, 'forest' AS kind, NULL AS x, * EXCLUDE (found)
    FROM fitted
    ANTI JOIN findings USING (release, workload)
)
SELECT
    panel,
    coalesce(series, release) AS series,
    x,
    y,
    * EXCLUDE (panel, series, x, y, release_order),
    coalesce(release_order, 1) AS series_order,
    coalesce(release_order, 1) AS release_order,
    NULL::BIGINT AS asked_trials
FROM points
ORDER BY panel_order, series_order, release_order, x, workload;
