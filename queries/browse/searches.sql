-- How the studies of some workloads in some releases were searched; null where that is not recorded.
SELECT DISTINCT coalesce(search ->> 'method', search ->> 'design')
FROM studies
WHERE list_contains($releases::VARCHAR[], release) AND list_contains($workloads::VARCHAR[], workload)
ORDER BY ALL;
