-- Steps to result: of each study the fewest steps that any of its first trials took past the goal.
SELECT batch_size, steps, trial_id, value, trials, learning_rate, momentum
FROM steps_to_result($release, NULL, $metric, $goal, $trials)
WHERE workload = $workload
ORDER BY batch_size;
