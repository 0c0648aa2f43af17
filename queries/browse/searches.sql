-- How the studies of some workloads in some releases were searched; null where that is not recorded; and replicates where
-- trials of theirs are such.
SELECT coalesce(search ->> 'method', search ->> 'design')
FROM studies
WHERE list_contains($releases::VARCHAR[], release) AND list_contains($workloads::VARCHAR[], workload)
UNION
SELECT 'replicates'
FROM trials
WHERE list_contains($releases::VARCHAR[], release) AND list_contains($workloads::VARCHAR[], workload) AND setting IS NOT NULL
ORDER BY ALL;
