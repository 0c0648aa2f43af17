"""Releases: folders of shards with a manifest, made from shards and checked byte by byte."""
