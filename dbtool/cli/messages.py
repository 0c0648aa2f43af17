"""Words of messages: a library's error in one sentence, a number with its noun."""

from __future__ import annotations

import re

# DuckDB shows the place in the query below this; Arrow the Python it passed through.
_DETAILS = re.compile(r"\n\s*(?:LINE \d+:|At:|For more info|Stack Trace).*", re.DOTALL)
# What an error collects in front when it passes from one engine to another.
_PASSED_ON = re.compile(r"^(?:.*get_next failed\(\): *)+", re.DOTALL)


def first_sentence(error: BaseException) -> str:
    """The message on one line: what is wrong and the candidates, without the query's text."""
    text = _DETAILS.sub("", _PASSED_ON.sub("", str(error)))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "; ".join(line.rstrip("!.;") for line in lines) or type(error).__name__


def counted(count: int, noun: str) -> str:
    """A number with its noun, as in "1 shard" and "2,000 shards"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
