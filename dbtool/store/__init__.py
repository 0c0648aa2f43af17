"""Releases that are open to read, and the queries that answer questions about them."""
