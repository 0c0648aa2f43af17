"""Published release folders: what lies where in them, their manifest, and loading them."""
