"""Errors for the user: one sentence each, with the exit code of the command."""

import difflib
import fnmatch
import re
from collections.abc import Callable, Iterable, Sequence

_FEW = 3
# Below these words DuckDB shows the place in the query, and Arrow the Python traceback.
_DETAILS = re.compile(
    r"\s*\n\s*(?:LINE \d+:|At:|For more info|Stack Trace|Candidate functions:).*", re.DOTALL
)
# DuckDB's message for a query that names a file.
_SHUT = re.compile(
    r'Permission Error: Cannot access \w+ "(.*)" - file system operations are disabled by '
    r"configuration"
)
# Prefixes that an error collects on its way from one engine to another.
_PASSED_ON = re.compile(r"^(?:.*get_next failed\(\): *)*(?:.*\bDbtoolError: )?", re.DOTALL)


class DbtoolError(Exception):
    """A failure; each argument is a sentence with the fault and its remedy."""

    exit_code = 1

    def __str__(self) -> str:
        return "; ".join(map(str, self.args))


class UsageError(DbtoolError):
    """Wrong input: an unknown name, a value out of range, or options that conflict."""

    exit_code = 2


def closest(word: str, choices: Iterable[str]) -> list[str]:
    """Return the few choices most similar to a word, best first.

    Where none is similar, the first few choices are returned in sorted order.
    """
    names = list(choices)
    return _alike(word, names) or sorted(names)[:_FEW]


def _alike(word: str, names: Sequence[str]) -> list[str]:
    """Return the names similar to a word, best first; for numbers, the closest ones."""
    if word.isdecimal() and all(name.isdecimal() for name in names):
        return sorted(names, key=lambda name: (abs(int(name) - int(word)), int(name)))[:_FEW]
    lower = {name.lower(): name for name in reversed(names)}
    near = difflib.get_close_matches(word.lower(), lower, n=_FEW, cutoff=0.4)
    return [lower[name] for name in near]


def unknown(kind: str, word: str, choices: Iterable[str], listing: str) -> UsageError:
    """Return the error for a word that should name something of a kind, such as "workload".

    The listing is the command that lists the choices, such as "dbtool workloads".
    """
    names = list(choices)
    near = _alike(word, names)
    below = f"{word.rstrip('/')}/"
    if any(name.startswith(below) for name in names):
        near = [f"'{below}*'", *near][:_FEW]
    if near:
        others = f"closest: {', '.join(near)}"
    else:
        first = ", ".join(sorted(names)[:_FEW]) + (", …" if len(names) > _FEW else "")
        others = f"there {'are' if len(names) > 1 else 'is'} {first or 'none'}"
    return UsageError(f"unknown {kind} {word!r}; {others} (list them with `{listing}`)")


def matching(
    patterns: Iterable[str], names: Iterable[str], absent: Callable[[str], UsageError]
) -> list[str]:
    """Return the names that match patterns, without duplicates, in the order of the patterns.

    In patterns, *, ? and [] match as in a shell, where * also matches a slash; of a pattern that
    matches none `absent` returns the error.
    """
    choices = dict.fromkeys(names)
    found: dict[str, None] = {}
    for pattern in patterns:
        matches = [pattern] if pattern in choices else fnmatch.filter(choices, pattern)
        if not matches:
            raise absent(pattern)
        found.update(dict.fromkeys(matches))
    return list(found)


def first_sentence(error: BaseException) -> str:
    """Return a message on one line, with its candidates and without the text of the query."""
    text = _DETAILS.sub("", _PASSED_ON.sub("", str(error)))
    text = _SHUT.sub(
        r"the query cannot read other files, such as '\1'; `dbtool sql --with NAME=FILE` adds one, "
        "and in Python db.sql(…, tables={…})",
        text,
    )
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "; ".join(line.rstrip("!.;") for line in lines) or type(error).__name__


def printable(text: str) -> str:
    """Return a text of unknown origin with the characters that move a terminal's cursor escaped."""
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape", "replace").decode()
        for letter in text
    )


def few_of(names: Sequence[str], most: int) -> str:
    """Return the first few of many names, and the count of the rest."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def joined(names: Iterable[str], word: str = "and") -> str:
    """Return names as a sentence lists them, such as "csv, jsonl and parquet"."""
    *others, last = names
    return f"{', '.join(others)} {word} {last}" if others else last


def counted(count: int, noun: str, nouns: str | None = None) -> str:
    """Return a number with its noun, as in "1 shard"; `nouns` is a plural with more than an s."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {nouns or f'{noun}s'}"
