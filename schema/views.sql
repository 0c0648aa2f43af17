-- What people query. The names of these views and their columns are a promise.

CREATE VIEW releases AS
SELECT
    release,
    title,
    licence,
    count(DISTINCT workload_id) AS workloads,
    count(DISTINCT study_id) AS studies,
    coalesce(sum(study_trials), 0)::BIGINT AS trials,
    coalesce(sum(study_measurements), 0)::BIGINT AS measurements,
    citation
FROM stored.release
LEFT JOIN stored.workload USING (release_id)
LEFT JOIN stored.study USING (workload_id)
LEFT JOIN (
    SELECT study_id, count(*) AS study_trials, sum(measurements) AS study_measurements
    FROM stored.trial
    GROUP BY study_id
) USING (study_id)
GROUP BY release_id, release, title, licence, citation
ORDER BY release_id;

CREATE VIEW studies AS
SELECT
    release,
    workload,
    batch_size,
    train_steps,
    early_stopping,
    search_space,
    coalesce(complete, 0) AS complete,
    coalesce(incomplete, 0) AS incomplete,
    coalesce(infeasible, 0) AS infeasible,
    coalesce(measurements, 0)::BIGINT AS measurements,
    seed,
    search
FROM stored.study
JOIN stored.workload USING (workload_id)
JOIN stored.release USING (release_id)
LEFT JOIN (
    SELECT
        study_id,
        count(*) FILTER (status = 'COMPLETE') AS complete,
        count(*) FILTER (status = 'INCOMPLETE') AS incomplete,
        count(*) FILTER (status = 'INFEASIBLE') AS infeasible,
        sum(measurements) AS measurements
    FROM stored.trial
    GROUP BY study_id
) USING (study_id);

CREATE VIEW workloads AS
SELECT
    release,
    workload,
    collection,
    dataset,
    model,
    optimizer,
    sparsity,
    metric,
    goal,
    maximize,
    goal_inclusive,
    train_examples,
    count(batch_size) AS studies,
    coalesce(sum(complete + incomplete + infeasible), 0)::BIGINT AS trials,
    coalesce(sum(measurements), 0)::BIGINT AS measurements
FROM stored.workload
JOIN stored.release USING (release_id)
LEFT JOIN studies USING (release, workload)
GROUP BY ALL;

CREATE VIEW trials AS
SELECT
    release,
    workload,
    batch_size,
    trial_id,
    status,
    steps,
    metaparameters['learning_rate'] AS learning_rate,
    metaparameters['momentum'] AS momentum,
    metaparameters['end_learning_rate_factor'] AS end_learning_rate_factor,
    metaparameters['learning_rate_decay_steps'] AS learning_rate_decay_steps,
    metaparameters['label_smoothing'] AS label_smoothing,
    metaparameters,
    trial.seed AS seed,
    trial.measurements AS measurements,
    shard.name AS shard,
    shard.producer AS producer
FROM stored.trial AS trial
JOIN stored.study USING (study_id)
JOIN stored.workload USING (workload_id)
JOIN stored.release USING (release_id)
LEFT JOIN stored.shard AS shard USING (shard_id);

CREATE VIEW measurements AS
SELECT
    release,
    workload,
    dataset,
    model,
    optimizer,
    batch_size,
    trial_id,
    status,
    step,
    train_cross_entropy_error,
    train_classification_error,
    val_cross_entropy_error,
    val_classification_error,
    test_cross_entropy_error,
    test_classification_error,
    train_average_precision,
    val_average_precision,
    test_average_precision,
    batch_cross_entropy_error,
    other_metrics
FROM stored.measurement
JOIN stored.trial USING (study_id, trial_id)
JOIN stored.study USING (study_id)
JOIN stored.workload USING (workload_id)
JOIN stored.release USING (release_id);
