SELECT
    release,
    coalesce(title, release) AS title,
    licence,
    -- The year in which the newest of its trials was written; NULL where none says so, as in archives.
    (
        SELECT max(year(try_cast(left(json_text(producer, 'created'), 10) AS DATE)))
        FROM trials
        WHERE trials.release = releases.release
    ) AS written,
    citation
FROM releases
WHERE $release IS NULL OR release = $release;
