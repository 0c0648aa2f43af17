"""Searches for steps to result: trials that advance together, in windows around an optimum."""
