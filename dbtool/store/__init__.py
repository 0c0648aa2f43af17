"""The store: release folders open to read, and the questions that they answer."""
