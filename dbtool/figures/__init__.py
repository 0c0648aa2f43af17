"""Figures: a query returns tidy points, a renderer draws them and decides nothing."""
