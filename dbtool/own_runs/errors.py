"""What is wrong with a file of runs: where it stands, and the closest that would do."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dbtool.errors import DbtoolError, closest

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class Place(NamedTuple):
    """Where something stands in the files.

    Attributes:
        path: the file.
        line: counted from 1.
    """

    path: Path
    line: int

    def __str__(self) -> str:
        return f"{self.path} line {self.line:,}"


class RunsError(DbtoolError):
    """A file of runs cannot be taken as its mapping says; nothing of it is stored."""


def at(place: Place, column: str | None, reason: str) -> RunsError:
    """The error for what stands at a place.

    Args:
        place: the file and line.
        column: the column, or the metric of a table in the long format; None for the whole line.
        reason: what is wrong, and what mends it.
    """
    where = "" if column is None else f", column {shown(column)}"
    return RunsError(f"{place}{where}: {reason}")


def shown(text: str) -> str:
    """A text from a file in quotes, cut where it is long, fit for a terminal."""
    return repr(text if len(text) <= 60 else f"{text[:57]}…")


def among(word: str, choices: Iterable[str]) -> str:
    """The closest choices, for the end of a sentence."""
    return ", ".join(map(shown, closest(word, choices))) or "none"
