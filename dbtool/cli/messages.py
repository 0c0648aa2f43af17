"""Words of messages: a number with its noun."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """A number with its noun, as in "1 shard" and "2,000 shards"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
