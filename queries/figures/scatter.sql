/*
Which metaparameters reach the goal, by batch size?
A panel a study; a point is a COMPLETE or INFEASIBLE trial, x its learning rate, y its 1 - momentum (1 where none is
searched), the series what became of it; best marks the trial that reached the goal first.
The parameter workloads holds names of workloads; NULL: the one with the most trials, if possible one that searches the
momentum. Each has its own goal unless the parameter goal is given; a workload without goal is left out. There is no
budget: change the most_steps below. The parameter trials takes the first so many trials of each study instead of all,
release names the release, or several joined by commas.
*/
WITH chosen AS (
    SELECT * FROM named_or_largest($release::VARCHAR, $workloads::VARCHAR[], $goal::DOUBLE)
),
panels AS (
    SELECT
        row_number() OVER (ORDER BY panel_order, batch_size) AS panel_order,
        concat_ws(', ', panel, concat(if(panel IS NULL, 'B', 'b'), 'atch size ', format('{:,}', batch_size))) AS panel,
        workload,
        batch_size,
        metric,
        goal,
        goal_text,
        NULL::BIGINT AS most_steps
    FROM chosen
    JOIN (
        SELECT DISTINCT workload, batch_size
        FROM studies
        JOIN figure_releases($release::VARCHAR, $workloads::VARCHAR[]) USING (release)
    ) USING (workload)
)
SELECT *
FROM scatter_points('panels', $release::VARCHAR, NULL, $trials::BIGINT);
