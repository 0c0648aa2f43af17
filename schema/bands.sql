-- What the figures of curves add to their points: a fitted line of perfect scaling, and bands at equal numbers of trials.

-- The points of steps_points with another line of perfect scaling, unless line_through is 'first': not through one point but,
-- by least squares of logarithms, through those up to where diminishing returns begin. That is the batch size of the curve
-- up to which its examples (steps times batch size) come nearest to a constant, and after which to a rise at one rate; there
-- is none, and all points count, where they come nearest to a constant throughout; one point has no line. perfect_low and
-- perfect_high bound the line's height with a chance of 95 %: those of the mean of the points' logarithms by Student's t, NULL
-- for fewer than three.
CREATE MACRO fitted_scaling(points, line_through) AS TABLE
WITH reached AS (
    SELECT panel_order, series_order, release_order, x, log2(x) AS octave, log2(steps * x) AS examples
    FROM query_table(points)
    WHERE steps > 0
    QUALIFY count(*) OVER (PARTITION BY panel_order, series_order, release_order) > 1
),
candidates AS (
    SELECT reached.*, knee.x AS knee, greatest(reached.octave - knee.octave, 0) AS beyond
    FROM reached
    JOIN reached AS knee USING (panel_order, series_order, release_order)
),
knees AS (
    SELECT
        panel_order,
        series_order,
        release_order,
        knee,
        count(*) FILTER (x <= knee) AS points_there,
        avg(examples ORDER BY x) FILTER (x <= knee) AS examples,
        -- The 0.975-quantiles of Student's t from 2 degrees of freedom on; beyond 20 the last one, which is a little too wide.
        stddev_samp(examples ORDER BY x) FILTER (x <= knee) / sqrt(points_there) * [
            NULL, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
            2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860
        ][least(points_there - 1, 20)] AS margin,
        regr_slope(examples, beyond) AS rise,
        regr_syy(examples, beyond) - coalesce(rise * regr_sxy(examples, beyond), 0) AS misfit
    FROM candidates
    GROUP BY panel_order, series_order, release_order, knee
),
lines AS (
    SELECT
        panel_order,
        series_order,
        release_order,
        arg_min({'mean': examples, 'margin': margin}, (round(misfit, 9), -knee)) AS examples
    FROM knees
    WHERE coalesce(rise > 0, true)
    GROUP BY panel_order, series_order, release_order
)
SELECT
    points.* REPLACE (CASE WHEN coalesce(line_through = 'first', false) THEN perfect ELSE power(2, examples.mean) / x END AS perfect),
    CASE WHEN coalesce(line_through <> 'first', true) THEN power(2, examples.mean - examples.margin) / x END AS perfect_low,
    CASE WHEN coalesce(line_through <> 'first', true) THEN power(2, examples.mean + examples.margin) / x END AS perfect_high
FROM query_table(points) AS points
LEFT JOIN lines USING (panel_order, series_order, release_order)
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
