/*
Was the search space wide enough? A panel a metaparameter; a point is a COMPLETE or diverged trial of any number, x its
study's batch size, y the metaparameter's value, the series what became of it; best marks the trial of the study that reached
the goal first. One that lies at a border of the range (low, high) tells that a wider search might have found a better one.
Where relative, y is divided by the highest value that the study searched. The parameter trials takes the first so many of all
trials of each study.
*/
WITH panels AS (FROM curves_of($figure)),
asked AS (FROM drawn('panels', $release::VARCHAR, $goal::DOUBLE, $trials::BIGINT)),
trial_rows AS (FROM trial_steps('asked')),
outcome_rows AS (FROM outcomes('trial_rows'))
FROM gridded('outcome_rows');
