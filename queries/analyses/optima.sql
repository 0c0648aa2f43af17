-- Where in the search space does the best trial lie?
--
-- The best of the first 100 trials of each study at its workload's own goal: a row for each study and metaparameter.
--
-- - position: where the value lies in its range, from 0 at the lower border to 1 at the upper one, on the scale of the search.
-- - at_border: whether it lies in the outer tenth of the range, so that the search space may be too narrow.
WITH best AS (
    SELECT release, workload, batch_size, goal, steps, trial_id, trials, metaparameters, search_space
    FROM steps_to_result(NULL, NULL, NULL, NULL, 100)
    WHERE steps IS NOT NULL
),
ranges AS (
    SELECT
        * EXCLUDE (search_space),
        json_object_of(search_space, metaparameter) AS range
    FROM (SELECT *, unnest(json_names(search_space)) AS metaparameter FROM best)
),
placed AS (
    SELECT
        *,
        mapped_number(metaparameters, metaparameter) AS value,
        json_number(range, 'min_value') AS low,
        json_number(range, 'max_value') AS high,
        json_text(range, 'scale') AS scale,
        position_in_range(mapped_number(metaparameters, metaparameter), range) AS position
    FROM ranges
    -- A fixed value is no range.
    WHERE json_number(range, 'min_value') < json_number(range, 'max_value')
)
SELECT
    release,
    workload,
    batch_size,
    goal,
    steps,
    trial_id,
    trials AS feasible_trials,
    metaparameter,
    value,
    low,
    high,
    scale,
    round(position, 3) AS position,
    at_border(value, range) AS at_border
FROM placed
ORDER BY release, workload, batch_size, metaparameter;
