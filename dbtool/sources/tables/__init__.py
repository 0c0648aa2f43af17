"""Adds learning curves of other tools to the database, as a release of their own."""
