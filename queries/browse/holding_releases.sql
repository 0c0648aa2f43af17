-- Which releases hold rows of each workload.
SELECT workload, list(release ORDER BY release_id) AS releases
FROM stored.workload
JOIN stored.release USING (release_id)
GROUP BY workload;
