"""Text data sets as subword tokens: sentences found in files, a vocabulary, examples of both."""
