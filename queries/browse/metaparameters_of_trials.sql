-- The learning rate and momentum of each trial, to be joined to measurements. DuckDB takes an unnested list for short: of
-- two tables it might gather the measurements, to look each trial up among them.
SELECT unnest(list(trial), recursive := true)
FROM (SELECT release, workload, batch_size, trial_id, learning_rate, momentum FROM trials) AS trial
