"""Errors that a person meets: one sentence each, with the exit code it leads to."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_FEW = 3
# DuckDB shows the place in the query below this; Arrow the Python it passed through.
_DETAILS = re.compile(
    r"\s*\n\s*(?:LINE \d+:|At:|For more info|Stack Trace|Candidate functions:).*", re.DOTALL
)
# What a query gets that names a file.
_SHUT = re.compile(
    r'Permission Error: Cannot access \w+ "(.*)" - file system operations are disabled by '
    r"configuration"
)
# What an error collects in front when it passes from one engine to another.
_PASSED_ON = re.compile(r"^(?:.*get_next failed\(\): *)*(?:.*\bDbtoolError: )?", re.DOTALL)


class DbtoolError(Exception):
    """The work failed; each argument is a sentence that names what is wrong and what helps."""

    exit_code = 1

    def __str__(self) -> str:
        return "; ".join(map(str, self.args))


class UsageError(DbtoolError):
    """The words given were wrong: an unknown name, a value out of range, options that clash."""

    exit_code = 2


def closest(word: str, choices: Iterable[str], count: int = 3) -> list[str]:
    """The choices most like a word, best first; the first few in order when none is alike."""
    names = list(choices)
    return alike(word, names, count) or sorted(names)[:count]


def alike(word: str, names: Sequence[str], count: int = 3) -> list[str]:
    """The names like a word, the nearest first; of numbers those that are closest to it."""
    if word.isdecimal() and all(name.isdecimal() for name in names):
        return sorted(names, key=lambda name: (abs(int(name) - int(word)), int(name)))[:count]
    lower = {name.lower(): name for name in reversed(names)}
    near = difflib.get_close_matches(word.lower(), lower, n=count, cutoff=0.4)
    return [lower[name] for name in near]


def unknown(kind: str, word: str, choices: Iterable[str], listing: str) -> UsageError:
    """The error for a name that is none of the valid ones.

    Args:
        kind: what the word should have named, such as "workload".
        word: what was given.
        choices: the valid names.
        listing: the command that lists them, such as "dbtool workloads".
    """
    names = list(choices)
    near = alike(word, names)
    below = f"{word.rstrip('/')}/"
    if any(name.startswith(below) for name in names):
        near = [f"'{below}*'", *near][:_FEW]
    if near:
        others = f"closest: {', '.join(near)}"
    else:
        first = ", ".join(sorted(names)[:_FEW]) + (", …" if len(names) > _FEW else "")
        others = f"there {'are' if len(names) > 1 else 'is'} {first or 'none'}"
    return UsageError(f"unknown {kind} {word!r}; {others} (list them with `{listing}`)")


def first_sentence(error: BaseException) -> str:
    """The message on one line: what is wrong and the candidates, without the query's text."""
    text = _DETAILS.sub("", _PASSED_ON.sub("", str(error)))
    text = _SHUT.sub(
        r"the query cannot read other files, such as '\1'; `dbtool sql --with NAME=FILE` adds one, "
        "and in Python db.sql(…, tables={…})",
        text,
    )
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "; ".join(line.rstrip("!.;") for line in lines) or type(error).__name__


def printable(text: str) -> str:
    """A text of unknown origin without characters that would move a terminal's cursor."""
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape", "replace").decode()
        for letter in text
    )


def few_of(names: Sequence[str], most: int) -> str:
    """The first few of many names, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def counted(count: int, noun: str, nouns: str | None = None) -> str:
    """A number with its noun, as in "1 shard" and "2,000 shards".

    Args:
        count: the number.
        noun: for one.
        nouns: for any other number; None: the noun with an s.
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {nouns or f'{noun}s'}"
