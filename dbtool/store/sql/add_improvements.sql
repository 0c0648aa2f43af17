-- The rows come sorted by trial and step, trials in ascending order, and are stored in that order.
INSERT INTO stored.improvement BY NAME
SELECT $study_id AS study_id, *
FROM incoming_improvements;
