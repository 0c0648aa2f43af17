"""MNIST and the data sets made like it: IDX files, found or fetched, verified and read."""
