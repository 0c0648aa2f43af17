"""The data sets that workloads train on: found or fetched, verified, read and split."""
