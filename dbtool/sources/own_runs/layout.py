"""What the files of a folder of runs are, as far as their names and values tell."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass
class Table:
    """The first rows of a file, with the parts of its name once these are known."""

    path: Path
    rows: list[dict[str, str]]
    columns: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.columns = [*dict.fromkeys(name for row in self.rows for name in row if name)]


@dataclass
class Layout:
    """What the columns of histories are.

    Attributes:
        step: that of the step.
        metric: that of the metric's name, in the long format.
        value: that of its value.
        name: the pattern of the files' names.
        keys: those that name the run.
        beside: names of files that say more of the runs.
        table: of runs, with its column that names them.
        properties: by column, the values that hold for whole runs.
        left_out: columns whose values are too long, or differ between files of a run.
    """

    step: str
    metric: str | None = None
    value: str | None = None
    name: str | None = None
    keys: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)
    table: tuple[Path, str] | None = None
    properties: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    left_out: set[str] = field(default_factory=set)
