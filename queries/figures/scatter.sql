/*
Which metaparameters reach the goal, by batch size?
A panel a study, of the workload with the most trials where none is named (choice says so); a point is a COMPLETE or diverged
trial, x its learning rate, y its 1 - momentum (1 where none is searched), the series what became of it; best marks the trial
that reached the goal first. There is no budget: change the most_steps below. The parameter trials takes the first so many of
all trials of each study.
*/
WITH chosen AS (FROM named_or_largest($release::VARCHAR, $workloads::VARCHAR[], $goal::DOUBLE)),
sizes AS (
    SELECT DISTINCT workload, batch_size
    FROM studies
    WHERE list_contains(drawn_releases($release::VARCHAR, $workloads::VARCHAR[]), release)
),
panels AS (
    SELECT
        row_number() OVER (ORDER BY workload_order, batch_size) AS panel_order,
        concat(
            if((SELECT count(*) FROM chosen) > 1, concat(title, ', batch size '), 'Batch size '), format('{:,}', batch_size)
        ) AS panel,
        workload,
        batch_size,
        metric,
        goal,
        goal_inclusive,
        NULL::BIGINT AS most_steps
    FROM chosen
    JOIN sizes USING (workload)
),
asked AS (FROM drawn('panels', $release::VARCHAR, NULL, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
outcome_rows AS (FROM outcomes('trial_rows'))
SELECT *
FROM scattered('outcome_rows')
CROSS JOIN subject_of('chosen', $workloads::VARCHAR[])
ORDER BY panel_order, series_order, release_order, x, trial_id;
