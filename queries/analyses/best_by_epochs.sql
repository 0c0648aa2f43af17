-- Which metaparameters are best for a given budget of epochs? A row a study and budget, from its first 100 trials.
--
-- value is the best that the workload's own metric came to within the budget, at step, and trial_id the trial; ties go to
-- the smaller step, then to the smaller trial id. A study whose train_steps do not reach the budget has no row for it,
-- nor has a workload whose size of the data set is not known. The best metaparameters for a short budget are often not
-- those for a long one: compare the rows of a batch size.
--
-- Change the budgets, or 100 below.
WITH budgets(epochs) AS (
    VALUES (1), (2), (5), (10), (20), (50)
),
asked AS (
    SELECT study_id, release, workload, batch_size, metric, maximize, epochs, epochs * train_examples AS most_examples
    FROM asked_studies(NULL, NULL, NULL, NULL)
    JOIN workloads USING (release, workload, metric)
    CROSS JOIN budgets
    WHERE train_steps * batch_size >= epochs * train_examples
),
-- Every finite value is past the goal here.
taken AS MATERIALIZED (
    SELECT study_id, trial_id, metric, if(maximize, '-infinity', 'infinity')::DOUBLE AS goal
    FROM first_trials(100)
    JOIN (SELECT DISTINCT study_id, metric, maximize FROM asked) USING (study_id)
),
counts AS (
    SELECT study_id, count(*) AS feasible_trials FROM taken GROUP BY study_id
),
best AS (
    SELECT
        study_id,
        epochs,
        arg_min(
            {'value': value, 'step': step, 'trial_id': trial_id}, (if(maximize, -value, value), step, trial_id)
        ) AS first
    FROM improving_values('taken')
    JOIN asked USING (study_id, metric)
    WHERE past AND step * batch_size <= most_examples
    GROUP BY study_id, epochs
)
SELECT
    release,
    workload,
    batch_size,
    epochs,
    metric,
    first.value AS value,
    first.step AS step,
    first.trial_id AS trial_id,
    learning_rate,
    momentum,
    feasible_trials
FROM asked
JOIN best USING (study_id, epochs)
JOIN counts USING (study_id)
JOIN trials USING (release, workload, batch_size)
WHERE trials.trial_id = first.trial_id
ORDER BY release, workload, batch_size, epochs;
