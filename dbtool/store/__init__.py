"""The store: one DuckDB file that holds every release's rows, loaded from shards."""
