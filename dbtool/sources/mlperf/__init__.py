"""MLPerf: the logs of its results, and the reference points that submissions are checked by."""
