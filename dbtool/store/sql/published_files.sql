-- What files of measurements hold besides the stored columns. The values in braces are put in as SQL.
CREATE TEMP VIEW published_measurements AS
SELECT filename[{start}:] AS place, study_id, trial_id, step, workload, batch_size
FROM read_parquet({measurements}, filename = true);

CREATE TEMP TABLE published_files AS
SELECT unnest({places}) AS place, unnest({workloads}) AS workload;
