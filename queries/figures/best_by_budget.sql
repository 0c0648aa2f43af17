/*
The best measurement of each batch size within a budget of steps, and within one of epochs, for any workloads, two panels
each; without names for the one with the most trials (choice says so). Drawn as figure 11 is: one curve a budget; a study
counts where its train_steps reach the budget and a trial was better within it than untrained, of which step 0 tells; an epoch
is train_examples / batch size steps. Of the budgets below those are drawn for which at least two studies count, the seven
largest. No goal is needed.
*/
WITH chosen AS (
    -- Any number stands for a goal.
    SELECT workload_order, title, workload, metric, max(train_examples) AS train_examples
    FROM named_or_largest($release::VARCHAR, $workloads::VARCHAR[], 0)
    JOIN (SELECT release, workload, train_examples FROM workloads) USING (workload)
    WHERE list_contains(drawn_releases($release::VARCHAR, $workloads::VARCHAR[]), release)
    GROUP BY ALL
),
budgets(budget) AS (
    SELECT (first * power(10, exponent))::DECIMAL(18, 1)
    FROM (VALUES (1), (2), (5)) AS firsts(first)
    CROSS JOIN range(-1, 8) AS exponents(exponent)
),
limits AS (
    SELECT chosen.*, 'steps' AS unit, budget, budget::BIGINT AS most_steps, NULL::DOUBLE AS most_examples
    FROM chosen
    CROSS JOIN budgets
    WHERE budget >= 100
    UNION ALL
    SELECT chosen.*, 'epochs', budget, NULL, (budget * train_examples)::DOUBLE
    FROM chosen
    CROSS JOIN budgets
    WHERE train_examples IS NOT NULL
),
reached AS (
    SELECT limits.*
    FROM limits
    JOIN studies USING (workload)
    WHERE list_contains(drawn_releases($release::VARCHAR, $workloads::VARCHAR[]), release)
    AND train_steps >= coalesce(most_steps, most_examples / batch_size)
    GROUP BY ALL
    HAVING count(*) > 1
),
curves AS (
    SELECT
        2 * dense_rank() OVER (ORDER BY workload_order) - if(unit = 'steps', 1, 0) AS panel_order,
        concat(if((SELECT count(*) FROM chosen) > 1, concat(title, ', '), ''), 'budgets of ', unit) AS panel,
        row_number() OVER (PARTITION BY workload, unit ORDER BY budget) AS series_order,
        CASE
            WHEN unit = 'epochs' THEN format('{:g} {}', budget::DOUBLE, if(budget = 1, 'epoch', 'epochs'))
            WHEN budget >= 1_000_000 THEN format('{:g}M steps', budget / 1_000_000)
            WHEN budget >= 1_000 THEN format('{:g}k steps', budget / 1_000)
            ELSE format('{:g} steps', budget::DOUBLE)
        END AS series,
        workload,
        metric,
        most_steps,
        most_examples,
        100 AS asked_trials
    FROM reached
),
asked AS (FROM drawn('curves', $release::VARCHAR, NULL, $trials::BIGINT)),
trained AS (
    SELECT * REPLACE (is_held AND coalesce(step > 0, false) AS is_held)
    FROM study_best('asked')
),
largest AS (
    SELECT panel_order, series_order, row_number() OVER (PARTITION BY panel_order ORDER BY series_order) AS place
    FROM (
        SELECT panel_order, series_order
        FROM trained
        WHERE is_held AND train_steps >= coalesce(most_steps, most_examples / batch_size)
        GROUP BY panel_order, series_order
        HAVING count(*) > 1
        QUALIFY row_number() OVER (PARTITION BY panel_order ORDER BY series_order DESC) <= 7
    )
),
study_rows AS (
    SELECT trained.* REPLACE (place AS series_order)
    FROM trained
    JOIN largest USING (panel_order, series_order)
),
budget_rows AS (
    SELECT asked.* REPLACE (place AS series_order)
    FROM asked
    JOIN largest USING (panel_order, series_order)
),
trial_rows AS (FROM trial_best('budget_rows')),
points AS (FROM best_points('study_rows'))
SELECT * REPLACE (
    -- The bands are of costs, which are lower the better a value is.
    if(is_maximized(metric), -band_high, band_low) AS band_low,
    if(is_maximized(metric), -band_low, band_high) AS band_high
)
FROM banded('points', 'trial_rows', NULL, coalesce($bands::BOOLEAN, true))
CROSS JOIN (FROM subject_of('chosen', $workloads::VARCHAR[]))
ORDER BY panel_order, series_order, release_order, x;
