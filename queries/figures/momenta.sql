/*
1 - momentum of the trial that reached the goal first, against batch size, one panel a workload.
The parameter workloads holds their names; NULL: every workload of the release that is trained with momentum. Each has its
own goal unless the parameter goal is given; a workload without goal is left out. The parameter trials replaces the 100
below, release names the release, or several joined by commas.
*/
WITH curves AS (
    SELECT *, 100 AS trials
    FROM workload_curves($release::VARCHAR, $workloads::VARCHAR[], $goal::DOUBLE, true)
    SEMI JOIN (FROM trials WHERE momentum IS NOT NULL) USING (workload)
)
SELECT *
FROM metaparameter_points('curves', $release::VARCHAR, NULL, $trials::BIGINT, 'momentum');
