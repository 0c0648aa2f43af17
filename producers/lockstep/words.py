"""How a person says that studies are searched: the options of a command, or a plan's keys."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from dbtool.errors import UsageError

if TYPE_CHECKING:
    from producers.lockstep.rule import LockstepRule


class Search(StrEnum):
    """How studies are searched."""

    FIXED = "fixed"
    LOCKSTEP = "lockstep"
    WINDOW = "window"


@dataclass(frozen=True)
class SearchWords:
    """How to search studies, in a person's words; None stands for what was not said.

    Attributes:
        search: None is fixed: every trial trains to its end.
        dropping: as in `LockstepRule`.
        reaching: likewise.
        wide_trials: likewise.
        wide_at: likewise.
    """

    search: Search | None = None
    dropping: float | None = None
    reaching: int | None = None
    wide_trials: int | None = None
    wide_at: int | None = None

    def rule(self, feasible: int | None = None) -> LockstepRule | None:
        """The rule that the words stand for; None where every trial trains to its end.

        Args:
            feasible: the trials that did not diverge which a person asked for.

        Raises:
            UsageError: they clash, or a number is out of range.
        """
        # Imports what words that clash need not wait for.
        from producers.lockstep.rule import LockstepRule

        chosen = self.search or Search.FIXED
        given = {name: value for name, value in asdict(self).items() if value is not None}
        given.pop("search", None)
        needed = Search.WINDOW if {"wide_trials", "wide_at"} & given.keys() else Search.LOCKSTEP
        if given and (chosen is Search.FIXED or (chosen, needed) == (Search.LOCKSTEP, "window")):
            raise UsageError(
                f"{' and '.join(given)} say how studies are searched with search {needed}, not "
                f"with {chosen}; leave them out or search with {needed}"
            )
        if chosen is Search.FIXED:
            return None
        if feasible:
            raise UsageError(f"search {chosen} adds trials by itself; leave out feasible")
        return LockstepRule(window=chosen is Search.WINDOW, **given)
