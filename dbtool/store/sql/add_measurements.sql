-- Shards may interleave their trials; sorted rows let the zone maps skip what a query does not ask for.
INSERT INTO stored.measurement BY NAME
SELECT $study_id AS study_id, *
FROM incoming_rows
ORDER BY trial_id, step;
