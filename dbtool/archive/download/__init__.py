"""Downloads an archive: resumed after any failure, named only once its hash is right."""
