"""The workloads that can be trained: frozen definitions in one registry."""
