"""Writes a release as a folder that any static host or object store can serve."""

from dbtool.release.publish.release import publish

__all__ = ["publish"]
