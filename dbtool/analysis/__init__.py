"""How far larger batches help, and how sure that is."""
