-- The release, with what is said about it now in place of what was said before.
SELECT
    release_id,
    release,
    coalesce($title, title) AS title,
    coalesce($licence, licence) AS licence,
    coalesce($citation, citation) AS citation
FROM stored.release
WHERE release = $release;
