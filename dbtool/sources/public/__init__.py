"""Measurements that others publish, each repository of them a source of its own."""
