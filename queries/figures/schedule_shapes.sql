/*
What do the learning-rate schedules look like?
A curve a schedule, a point the share of the initial learning rate (y) after a share of the decay's steps (x). The figure
is computed from formulas and needs no data; goal, trials and release change nothing.
The paper's names are given; of the formulas below, constant and linear are those that this project trains with
(producers/training/optimizers.py: the end is reached after the decay's steps and kept from then on), cosine is the usual
one, and those of the exponential polynomial, its inverse and the exponential were chosen to fit their names rather than
taken from the paper: with s the share of the steps and e the end factor,
    exponential polynomial            e + (1 - e) (1 - s)^p     falls at first
    inverse exponential polynomial    e + (1 - e) (1 - s^p)     falls at last
    exponential                       e^s                       falls by one factor each step
Change the end factor, the power p or how far the axis goes below; all three are chosen for this figure.
*/
WITH setting AS (
    SELECT 0.01 AS end_factor, 3.0 AS power, 1.2 AS last_share, 240 AS intervals
),
shares AS (
    SELECT
        last_share * unnest(range(intervals + 1)) / intervals AS x,
        least(x, 1.0)::DOUBLE AS share,
        end_factor::DOUBLE AS end_factor,
        power::DOUBLE AS power
    FROM setting
),
schedules AS (
    SELECT
        x,
        [
            {'series': 'constant', 'y': 1.0::DOUBLE},
            {'series': 'linear', 'y': 1 - (1 - end_factor) * share},
            {'series': 'cosine', 'y': end_factor + (1 - end_factor) * (1 + cos(pi() * share)) / 2},
            {'series': 'exponential polynomial', 'y': end_factor + (1 - end_factor) * (1 - share) ** power},
            {'series': 'inverse exponential polynomial', 'y': end_factor + (1 - end_factor) * (1 - share ** power)},
            {'series': 'exponential', 'y': end_factor ** share}
        ] AS curves
    FROM shares
)
SELECT
    'Learning-rate schedules' AS panel,
    curves[series_order].series AS series,
    x::DOUBLE AS x,
    curves[series_order].y AS y,
    1 AS panel_order,
    series_order,
    NULL::VARCHAR AS release,
    NULL::VARCHAR AS workload,
    NULL::VARCHAR AS metric,
    NULL::DOUBLE AS goal,
    NULL::BOOLEAN AS goal_inclusive,
    NULL::BIGINT AS trials,
    NULL::BIGINT AS asked_trials,
    1 AS release_order,
    NULL::INTEGER AS trial_id,
    false AS read_off
FROM schedules
CROSS JOIN generate_series(1, 6) AS curve_number(series_order)
ORDER BY panel_order, series_order, x;
