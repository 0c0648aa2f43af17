-- A title, licence or citation given later fills the gap.
UPDATE stored.release
SET
    title = coalesce(title, $title),
    licence = coalesce(licence, $licence),
    citation = coalesce(citation, $citation)
WHERE release = $release;
