SELECT workload || '/' || batch_size AS study, complete, incomplete, infeasible, measurements
FROM studies
WHERE release = $release;
