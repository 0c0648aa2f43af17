-- The best learning rates of each batch size, as `dbtool scaling --rows learning_rates` tells them: those of the trials that came
-- as far as the fastest in up to a quarter more steps. low or high is NULL where it lies in the outer tenth of what was
-- searched, so that better ones may lie beyond. Searches of fewer trials than all are compared at are left out.
WITH asked AS (
    SELECT * EXCLUDE (train_steps, stopped), NULL::INTEGER AS asked_trials
    FROM study_goals(NULL, NULL, NULL, $metric, $goal)
    WHERE list_contains($keys, release || ':' || workload)
),
trial_rows AS (FROM trial_crossings('asked')),
crossed AS (
    SELECT
        *,
        count(*) OVER study AS n,
        min(steps) OVER study AS fewest,
        (search_space->'learning_rate'->>'min_value')::DOUBLE AS least,
        (search_space->'learning_rate'->>'max_value')::DOUBLE AS most
    FROM steps_of_settings('trial_rows')
    WINDOW study AS (PARTITION BY release, workload, batch_size)
),
equal AS (
    SELECT *
    FROM crossed
    QUALIFY n >= coalesce(
        $trials::BIGINT,
        min(n) FILTER (n >= 5) OVER (PARTITION BY release, workload),
        max(n) OVER (PARTITION BY release, workload)
    )
),
found AS (
    SELECT
        release,
        workload,
        metric,
        goal,
        batch_size,
        arg_min(learning_rate, (steps, trial_id)) AS best,
        min(learning_rate) FILTER (after <= 1.25 * fewest) AS low,
        max(learning_rate) FILTER (after <= 1.25 * fewest) AS high,
        count(*) FILTER (after <= 1.25 * fewest) AS trials,
        any_value(least) AS least,
        any_value(most) AS most
    FROM equal
    WHERE steps IS NOT NULL AND learning_rate IS NOT NULL
    GROUP BY ALL
)
SELECT
    release,
    workload,
    metric,
    goal,
    batch_size,
    best,
    CASE WHEN coalesce(low > least * (most / least) ** 0.1, true) THEN low END AS low,
    CASE WHEN coalesce(high < most / (most / least) ** 0.1, true) THEN high END AS high,
    trials
FROM found
ORDER BY list_position($keys, release || ':' || workload), batch_size;
