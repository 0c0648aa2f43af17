"""Published releases as databases that lie on a server, or in a folder, and are read in parts."""
