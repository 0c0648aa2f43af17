"""Producers train the registered workloads and write shards of per-step measurements."""
