-- Filled a workload of a release at a time, since the macro steps_to_result takes one of each.
CREATE TEMP TABLE steps (
    position INTEGER,      -- of the workload in the order of asking
    release VARCHAR,
    workload VARCHAR,
    batch_size INTEGER,
    steps BIGINT,          -- NULL where no trial got past the goal
    trial_id INTEGER,
    value DOUBLE,
    learning_rate DOUBLE,
    momentum DOUBLE,
    trials BIGINT,
    goal DOUBLE,
    metric VARCHAR
);
