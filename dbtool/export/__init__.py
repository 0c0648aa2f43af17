"""Measurements as files for other programs, which appear whole or not at all."""
