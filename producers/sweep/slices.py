"""Slices of a sweep: the shares of its blocks that the tasks of a job array train."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dbtool.core.errors import UsageError

_WRITTEN = re.compile(r"(\d{1,9})/(\d{1,9})", re.ASCII)


@dataclass(frozen=True)
class Slice:
    """One of so many shares of a sweep.

    Attributes:
        number: from 1 to count.
        count: how many shares there are.
    """

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Slice:
        """The slice that is written as in 3/16.

        Raises:
            UsageError: when it is written otherwise, or there is no such slice.
        """
        written = _WRITTEN.fullmatch(text.strip())
        if written is None:
            raise UsageError(
                f"slice {text!r} is not a number, a stroke and how many slices there are; "
                "give the third of sixteen as --slice 3/16"
            )
        number, count = int(written[1]), int(written[2])
        if not 1 <= number <= count:
            raise UsageError(
                f"there is no slice {text.strip()}: with --slice I/N, I goes from 1 to N, "
                "as the tasks of `sbatch --array=1-N` do"
            )
        return cls(number, count)

    def has(self, block: int) -> bool:
        """Whether the slice trains the sweep's block of that number, counted from 1."""
        return (block - self.number) % self.count == 0

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"
