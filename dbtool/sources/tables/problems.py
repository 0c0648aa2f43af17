"""Errors in files of runs: one sentence each, all reported at once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from dbtool.core.errors import DbtoolError, closest, counted

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

# Sentences that differ only in quoted texts and numbers are of one kind.
_DETAILS = re.compile(r"'[^']*'|\"[^\"]*\"|[\d.,]+")
MOST_OF_A_KIND = 3
_MOST_PROBLEMS = 20


class RunsError(DbtoolError):
    """Files of runs are not as their mapping describes; nothing of them is stored.

    Attributes:
        kind: equal for errors that are alike.
    """

    kind: str | None = None


class Position(NamedTuple):
    """A line of a file, counted from 1 (in Parquet, a row); 0 is the whole file."""

    path: Path
    line: int

    def __str__(self) -> str:
        word = "row" if self.path.suffix == ".parquet" else "line"
        return f"{self.path} {word} {self.line:,}" if self.line else str(self.path)

    def error(self, column: str | None, reason: str) -> RunsError:
        """Return an error at this position.

        Args:
            column: the column, or the metric of a table in the long format; None for the whole.
            reason: what is wrong, and what would be right.
        """
        where = "" if column is None else f", column {shown(column)}"
        error = RunsError(f"{self}{where}: {reason}")
        error.kind = f"{where}{_DETAILS.sub('', reason)}"
        return error


class Problems:
    """Errors in files, collected so that they are reported at once.

    In a `with` block, a `DbtoolError` ends the block and is kept.
    """

    def __init__(self) -> None:
        self._alike: dict[str, list[DbtoolError]] = {}
        self._left_out = 0

    def __len__(self) -> int:
        return sum(map(len, self._alike.values())) + self._left_out

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        if isinstance(error, DbtoolError):
            self.add(error)
            return True
        return False

    def add(self, error: DbtoolError) -> None:
        """Keep an error; a repeated one only once."""
        alike = self._alike.setdefault(getattr(error, "kind", None) or str(error), [])
        if str(error) in map(str, alike):
            return
        if len(alike) < MOST_OF_A_KIND:
            alike.append(error)
        else:
            self._left_out += 1

    def add_all(self, errors: Iterable[DbtoolError], count: int) -> None:
        """Keep the first of several errors of one kind, and count the others."""
        for _, error in zip(range(MOST_OF_A_KIND), errors, strict=False):
            self.add(error)
        self._left_out += max(0, count - MOST_OF_A_KIND)

    def refuse(self) -> None:
        """Raise the kept errors: the first few of each kind, a sentence each, and how many more."""
        errors = [error for alike in self._alike.values() for error in alike]
        if len(errors) == 1:
            raise errors[0]
        if errors:
            left_out = len(self) - min(len(errors), _MOST_PROBLEMS)
            more = [f"and {counted(left_out, 'more problem')} like these"] if left_out else []
            raise RunsError(*map(str, errors[:_MOST_PROBLEMS]), *more)


def shown(text: str) -> str:
    """Return a text from a file in quotes, cut where it is long, safe for a terminal."""
    return repr(text if len(text) <= 60 else f"{text[:57]}…")


def among(word: str, choices: Iterable[str]) -> str:
    """Return the closest choices, for the end of a sentence."""
    return ", ".join(map(shown, closest(word, choices))) or "none"
