"""Takes learning curves of other tools into the database, as a release of their own."""
