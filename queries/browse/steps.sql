SELECT * EXCLUDE (position)
FROM steps
WHERE $batch_sizes IS NULL OR list_contains($batch_sizes, batch_size)
ORDER BY position, batch_size;
