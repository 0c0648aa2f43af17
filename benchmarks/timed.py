"""Timing things in turns, so that other work on the machine disturbs all of them alike."""

from __future__ import annotations

import time
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


@dataclass(frozen=True)
class Timed:
    """Something to time.

    Attributes:
        amount: how much one call does, such as steps.
        call: does it, and returns when it is done.
    """

    amount: float
    call: Callable[[], object]


@dataclass(frozen=True)
class Rates:
    """How much was done a second, in each turn.

    Attributes:
        by_clock: of the time that passed.
        by_processor: of the time that cores spent on this process, all threads added up. Other
            programs disturb it little; it does not see cores that wait.
    """

    by_clock: Sequence[float]
    by_processor: Sequence[float]


def in_turns(works: Mapping[str, Timed], turns: int) -> dict[str, Rates]:
    """Times all of them one after the other, as many times over; a first turn is not counted."""
    clock: dict[str, list[float]] = {name: [] for name in works}
    processor: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(turns + 1):
        for name, work in works.items():
            started, spent = time.perf_counter(), time.process_time()
            work.call()
            if turn:  # the first one compiles
                clock[name].append(work.amount / (time.perf_counter() - started))
                processor[name].append(work.amount / (time.process_time() - spent))
    return {name: Rates(clock[name], processor[name]) for name in works}


def ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """The median of the turns' ratios."""
    return median(a / b for a, b in zip(above, below, strict=True))
