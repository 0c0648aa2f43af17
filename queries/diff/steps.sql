SELECT workload, batch_size, steps
FROM steps_to_result($release, NULL, $metric, $goal, $trials);
