"""All figures on one page that needs no network, no server and no other file."""
