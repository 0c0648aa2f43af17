"""Writes a release as a folder that any static host or object store can serve."""

from dbtool.release.publish.release import Said, publish_release

__all__ = ["Said", "publish_release"]
