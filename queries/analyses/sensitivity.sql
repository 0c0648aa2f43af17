-- How much does the learning rate matter?
--
-- A row a study, at the workload's own goal, from all of its trials that ended.
--
-- reached_share is the share of trials that reach the goal within the study's budget: the chance that one drawn from its
-- search space does. lowest and highest are the learning rates between which those lie, decades how wide that is on a
-- logarithmic scale, and inside_share the share of the trials drawn between them that reach the goal: far below 1, other
-- metaparameters or chance decide too. The search space of a study bounds all of this.
WITH asked AS (
    SELECT release, workload, batch_size, metric, goal, goal_inclusive, NULL AS asked_trials
    FROM workloads
    JOIN studies USING (release, workload)
),
ended AS (
    SELECT
        release,
        workload,
        batch_size,
        steps IS NOT NULL AS reached,
        learning_rate
    FROM trial_steps('asked')
),
ranges AS (
    SELECT
        release,
        workload,
        batch_size,
        count(*) AS trials,
        count(*) FILTER (reached) AS reached_trials,
        min(learning_rate) FILTER (reached) AS lowest,
        max(learning_rate) FILTER (reached) AS highest
    FROM ended
    GROUP BY release, workload, batch_size
)
SELECT
    release,
    workload,
    batch_size,
    any_value(trials) AS trials,
    round(any_value(reached_trials / trials), 3) AS reached_share,
    any_value(lowest) AS lowest,
    any_value(highest) AS highest,
    round(log10(any_value(highest / lowest)), 2) AS decades,
    round(
        count(*) FILTER (reached AND learning_rate BETWEEN lowest AND highest)
        / nullif(count(*) FILTER (learning_rate BETWEEN lowest AND highest), 0),
        3
    ) AS inside_share
FROM ended
JOIN ranges USING (release, workload, batch_size)
GROUP BY release, workload, batch_size
ORDER BY release, workload, batch_size;
