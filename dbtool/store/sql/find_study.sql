SELECT study_id, train_steps, early_stopping, search_space, seed, search
FROM stored.study
WHERE workload_id = $workload_id AND batch_size = $batch_size;
