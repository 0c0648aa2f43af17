"""Queries that tests ask."""

from __future__ import annotations

ENDLESS = "SELECT count(*) FROM range(100000000000) WHERE sqrt(range) < 0"
