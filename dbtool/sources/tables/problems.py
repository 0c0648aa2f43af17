"""Errors in files of runs: one sentence each, all reported at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbtool.core.errors import DbtoolError, closest, counted, few_of
from dbtool.store.table_files import RunsError, shown

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

MOST_OF_A_KIND = 3
_MOST_PROBLEMS = 20


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


class Notes:
    """What is odd in files that are read all the same: a sentence each, with the files' names."""

    def __init__(self) -> None:
        self._files: dict[str, dict[str, None]] = {}

    def add(self, sentence: str) -> None:
        """Keep a sentence."""
        self._files.setdefault(sentence, {})

    def of_file(self, path: Path, sentence: str) -> None:
        """Keep a sentence about a file, which is told once of all such files."""
        self._files.setdefault(sentence, {})[str(path)] = None

    def sentences(self) -> list[str]:
        """Return the sentences, each after the first few of its files."""
        return [
            f"{few_of(list(names), MOST_OF_A_KIND)}: {sentence}" if names else sentence
            for sentence, names in self._files.items()
        ]


def among(word: str, choices: Iterable[str]) -> str:
    """Return the closest choices, for the end of a sentence."""
    return ", ".join(map(shown, closest(word, choices))) or "none"
