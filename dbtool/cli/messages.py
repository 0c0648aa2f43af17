"""Words of messages: a number with its noun."""

from __future__ import annotations


def counted(count: int, noun: str, nouns: str | None = None) -> str:
    """A number with its noun, as in "1 shard" and "2,000 shards".

    Args:
        count: the number.
        noun: for one.
        nouns: for any other number; None: the noun with an s.
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {nouns or f'{noun}s'}"
