"""Release folders as units: published, downloaded, compared, exported and verified byte by byte."""
