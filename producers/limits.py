"""How much of a study can be asked for, on the command line and in plan files."""

from __future__ import annotations

from typing import Final, NamedTuple


class Limits(NamedTuple):
    """The least and the most that a number may be, both included."""

    least: int
    most: int


TRIALS: Final = Limits(1, 1_000_000)
FEASIBLE: Final = Limits(0, 100_000)
STEPS: Final = Limits(1, 100_000_000)
BUDGET: Final = Limits(0, 100)
DROPPING: Final = Limits(1, 1_000)

DEFAULT_TRIALS: Final = 100
