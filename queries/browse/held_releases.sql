SELECT release FROM stored.release ORDER BY release_id;
