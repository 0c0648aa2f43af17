-- What the figures of curves add to their points: a fitted line of perfect scaling, and bands at equal numbers of trials.

-- The points of steps_points with another line of perfect scaling, unless line_through is 'first': not through one point, but
-- the limit at small batch sizes of the curve that `dbtool scaling` fits to trial_rows, which are those of trial_steps.
-- perfect_low and perfect_high are its 95 % interval. Where too few batch sizes reached the goal, there is no line. That the
-- macro's name holds that of the function in Python makes it be there, since a query names it.
CREATE MACRO with_scaling_of_trials(points, trial_rows, trial_count, line_through) AS TABLE
WITH wanted AS (
    FROM query_table(trial_rows) WHERE coalesce(line_through <> 'first', true)
),
crossed AS (
    SELECT missed.*, search
    FROM with_misses('wanted') AS missed
    JOIN (SELECT release, workload, batch_size, search FROM studies) USING (release, workload, batch_size)
),
fits AS MATERIALIZED (
    SELECT * EXCLUDE (trials), scaling_of_trials(trials, coalesce(trial_count, 0)) AS found
    FROM listed_trials('crossed')
)
SELECT
    points.* REPLACE (
        CASE WHEN coalesce(line_through = 'first', false) THEN perfect ELSE found.fewest_examples / x END AS perfect
    ),
    found.fewest_examples_low / x AS perfect_low,
    found.fewest_examples_high / x AS perfect_high
FROM query_table(points) AS points
LEFT JOIN fits USING (release, workload, metric, goal)
ORDER BY panel_order, series_order, release_order, x;

-- Points with the band of the median of the best of best_of trials: best_of is the least number of trials of the panel's
-- studies, so that all compare at equal numbers, and the band is NULL at an end that a study's trials are too few to bound.
-- Of replicates a setting counts as one trial, by its median. A study of one setting is no search: best_of is NULL, and the
-- band that of the median of its replicates.
-- trial_rows are those of trial_steps. Of steps band_low and band_high are those of the two trials between which the median
-- lies with a chance of 95 % (ranks_around_median; a trial that never reached the goal took infinitely many). Of a
-- metaparameter, named as in `optimal`, they are its range among the trials from the one to the other, the best one where
-- that is unknown, if all of them reached the goal. wanted tells whether there are bands at all.
CREATE MACRO banded(points, trial_rows, metaparameter_name, wanted) AS TABLE
WITH settled AS (
    SELECT
        *,
        -- Those that diverged have no ordinal; they count as trials that never reached the goal.
        coalesce(ordinal <= asked_trials, true) AS counts,
        coalesce(min(setting) OVER study = max(setting) OVER study, false)
            AND count(setting) OVER study = count(*) OVER study AS is_alone
    FROM setting_steps(trial_rows)
    WHERE wanted AND trial_id IS NOT NULL
    WINDOW study AS (PARTITION BY panel_order, series_order, release_order, batch_size)
),
counted AS (
    SELECT
        panel_order,
        series_order,
        release_order,
        batch_size,
        is_alone,
        CASE WHEN is_alone THEN steps ELSE median_steps END AS steps,
        metaparameter_of(metaparameter_name, learning_rate, momentum) AS value,
        row_number() OVER (study ORDER BY CASE WHEN is_alone THEN settled.steps ELSE median_steps END NULLS LAST, trial_id) AS place,
        count(*) OVER study AS n
    FROM settled
    WHERE counts AND (stands OR is_alone)
    WINDOW study AS (PARTITION BY panel_order, series_order, release_order, batch_size)
),
sizes AS (
    SELECT * REPLACE (CASE WHEN NOT is_alone THEN best_of END AS best_of),
        ranks_around_median(n, CASE WHEN is_alone THEN 1 ELSE best_of END, 0.95) AS ranks
    FROM (
        SELECT DISTINCT panel_order, n, is_alone, min(n) FILTER (NOT is_alone) OVER (PARTITION BY panel_order) AS best_of
        FROM counted
    )
),
bands AS (
    SELECT
        panel_order,
        series_order,
        release_order,
        batch_size,
        best_of,
        bool_or(place = ranks.high AND steps IS NOT NULL) AS all_reached,
        CASE
            WHEN metaparameter_name IS NULL THEN min(steps) FILTER (place = ranks.low)
            WHEN all_reached THEN min(value) FILTER (place BETWEEN coalesce(ranks.low, 1) AND ranks.high)
        END AS band_low,
        CASE
            WHEN metaparameter_name IS NULL THEN min(steps) FILTER (place = ranks.high)
            WHEN all_reached THEN max(value) FILTER (place BETWEEN coalesce(ranks.low, 1) AND ranks.high)
        END AS band_high
    FROM counted
    JOIN sizes USING (panel_order, n, is_alone)
    GROUP BY ALL
)
SELECT points.*, best_of, band_low, band_high
FROM query_table(points) AS points
LEFT JOIN bands USING (panel_order, series_order, release_order, batch_size)
ORDER BY panel_order, series_order, release_order, x;
