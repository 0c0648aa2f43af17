"""Queries that tests ask."""

ENDLESS = "SELECT count(*) FROM range(100000000000) WHERE sqrt(range) < 0"
