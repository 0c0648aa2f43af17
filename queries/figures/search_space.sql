/*
Was the search space wide enough?
A panel a metaparameter of a workload, without names of that with the most trials (choice says so); a point is a COMPLETE or
diverged trial, x its study's batch size, y the metaparameter's value, the series what became of it; best marks the trial of
the study that reached the goal first. One that lies at a border of the range (low, high) tells that a wider search might have
found a better one. Where a range is another one at every batch size and not logarithmic, y is divided by the highest value
that the study searched. The parameter trials takes the first so many of all trials of each study.
*/
WITH chosen AS (FROM named_or_largest($release::VARCHAR, $workloads::VARCHAR[], $goal::DOUBLE)),
searched AS (
    SELECT workload, search_space, unnest(json_keys(search_space)) AS metaparameter
    FROM studies
    WHERE list_contains(drawn_releases($release::VARCHAR, $workloads::VARCHAR[]), release)
),
metaparameters AS (
    SELECT
        workload,
        metaparameter,
        count(DISTINCT search_space->metaparameter->>'max_value') > 1
            AND NOT bool_or((search_space->metaparameter->>'scale') LIKE '%LOG%') AS relative
    FROM searched
    GROUP BY ALL
),
panels AS (
    SELECT
        row_number() OVER (
            ORDER BY workload_order, metaparameter <> 'learning_rate', metaparameter <> 'momentum', metaparameter
        ) AS panel_order,
        concat(
            if((SELECT count(*) FROM chosen) > 1, concat(title, ': '), ''),
            upper(metaparameter[1]),
            replace(metaparameter[2:], '_', ' ')
        ) AS panel,
        workload,
        metric,
        goal,
        goal_inclusive,
        metaparameter,
        coalesce(relative, false) AS relative
    FROM chosen
    JOIN metaparameters USING (workload)
),
asked AS (FROM drawn('panels', $release::VARCHAR, NULL, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
outcome_rows AS (FROM outcomes('trial_rows'))
SELECT *
FROM gridded('outcome_rows')
CROSS JOIN subject_of('chosen', $workloads::VARCHAR[])
ORDER BY panel_order, series_order, release_order, x, trial_id;
