"""Images that are read from files and decoded when they are needed."""
