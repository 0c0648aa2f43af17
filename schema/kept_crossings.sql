-- Run before many figures are drawn: the steps of all trials to their workloads' goals, which most figures ask for, are computed
-- once. A query for other goals evaluates these as before. The parameters are those of the figures.

CREATE OR REPLACE TABLE stored.kept_goals AS
SELECT DISTINCT release, workload, batch_size, metric, goal, goal_inclusive, is_maximized(metric) AS maximize
FROM study_goals($workloads::VARCHAR[], NULL, NULL, NULL, $goal::DOUBLE)
WHERE goal IS NOT NULL AND ($release::VARCHAR IS NULL OR list_contains(drawn_releases($release::VARCHAR, NULL), release));

CREATE OR REPLACE TABLE stored.kept_crossings AS
WITH goals AS (FROM stored.kept_goals)
FROM evaluated_crossings('goals');

CREATE OR REPLACE MACRO crossings_of(goals) AS TABLE
WITH others AS (
    FROM query_table(goals)
    ANTI JOIN stored.kept_goals USING (release, workload, batch_size, metric, goal, goal_inclusive)
)
FROM evaluated_crossings('others')
UNION ALL
FROM stored.kept_crossings
SEMI JOIN query_table(goals) USING (release, workload, batch_size, metric, goal, goal_inclusive);
