SELECT citation FROM releases WHERE citation IS NOT NULL AND ($release IS NULL OR release = $release);
