"""Scaling with the batch size: statistics of steps to result, with their uncertainty."""
