"""Producers train the registered workloads and write shards of per-step measurements.

What a person can correct is raised as `dbtool.core.errors.DbtoolError`, wherever it is found:
options and plans that are wrong as UsageError, files that cannot be read, are damaged or do not
fit as DbtoolError itself.
"""
