/*
Steps to result against batch size, one curve a goal; y is the fewest steps to get strictly past it. There is no line of
perfect scaling. The parameter goal leaves one curve a panel, for that goal.
*/
WITH curves AS (
    SELECT
        panel_order,
        panel,
        series_order,
        if($goal::DOUBLE IS NULL, series, concat('goal ', $goal::DOUBLE)) AS series,
        workload,
        metric,
        goal,
        asked_trials
    FROM curves_of($figure)
    WHERE $goal::DOUBLE IS NULL OR series_order = 1
),
asked AS (FROM drawn('curves', $release::VARCHAR, $goal::DOUBLE, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
study_rows AS (FROM study_steps('trial_rows')),
points AS (
    SELECT * REPLACE (NULL::DOUBLE AS perfect)
    FROM steps_points('study_rows')
)
FROM banded('points', 'trial_rows', NULL, coalesce($bands::BOOLEAN, false));
