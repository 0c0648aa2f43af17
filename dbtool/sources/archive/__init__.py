"""The published archive of 2018: fetch it, read it, import it, and what it is known to hold."""
