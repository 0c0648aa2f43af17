"""Benchmarks, each to be run as a module from the checkout; none is part of the package."""
