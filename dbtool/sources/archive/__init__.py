"""The published archive of 2018: fetch it, read it, import it, and the facts known about it."""
