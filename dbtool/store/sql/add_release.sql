INSERT INTO stored.release
SELECT coalesce(max(release_id), 0) + 1, $release, NULL, NULL, NULL
FROM stored.release
HAVING NOT coalesce(bool_or(release = $release), false);
