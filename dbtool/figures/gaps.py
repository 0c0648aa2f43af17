"""What a figure lacks, in words: which panels and curves, in which release, and what fills them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from dbtool.core.resources import schema_folder
from dbtool.figures.names import readable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dbtool.figures.points import Points
    from dbtool.figures.specs import FigureSpec

FETCH = "`dbtool fetch` and `dbtool import batch_science_data.tar.bz2`"
PUBLISHED = "published"
# More commands than this would fill the page; the rest are like them.
MOST_COMMANDS = 3
# The same of panels; the CSV of points tells the others.
MOST_NAMED = 10


@dataclass(frozen=True)
class Missing:
    """What a figure lacks of a release.

    Attributes:
        names: of panels and curves.
        ways: the commands that would fill them, as the end of a sentence; "" if none do.
    """

    names: Sequence[str]
    ways: str


def left_out_of(points: Points, spec: FigureSpec) -> Mapping[str, Missing]:
    """What the releases of a figure lack, by release."""
    found = {}
    for (release,), missing in points.left_out.group_by("release", maintain_order=True):
        held = points.rows.filter(pl.col("release") == release)
        ways = what_fills(
            missing["workload"].drop_nulls(),
            [str(release)],
            points.trainable,
            in_published=spec.in_published,
        )
        found[str(release)] = Missing(left_out_names(held, missing), ways)
    return found


def left_out_names(rows: pl.DataFrame, left_out: pl.DataFrame) -> list[str]:
    """What a release has no data of: whole panels by their titles, else "PANEL (CURVE, …)".

    Args:
        rows: what the release has data of; columns panel and series.
        left_out: what it has none of; the same columns.
    """
    drawn = set(rows["panel"])
    missing: dict[str, dict[str, None]] = {}
    for panel, series in left_out.select("panel", "series").iter_rows():
        missing.setdefault(panel, {})[readable(series)] = None
    return [
        f"{readable(panel)} ({', '.join(curves)})" if panel in drawn else readable(panel)
        for panel, curves in missing.items()
    ]


def past(goal: float | None) -> str:
    """What a sentence about missing data adds where a goal was asked for."""
    return "" if goal is None else f" past the goal {goal:g}"


def few_of(names: Sequence[str]) -> str:
    """The names, joined; of very many the first, and how many more there are."""
    more = len(names) - MOST_NAMED
    return "; ".join(names[:MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")


def what_fills(
    workloads: Iterable[str],
    releases: Sequence[str],
    trainable: frozenset[str],
    *,
    in_published: bool = True,
) -> str:
    """The commands that bring data of these workloads, as the end of a sentence; "" if none do.

    Args:
        workloads: that the figure lacks.
        releases: that have been looked in; what they lack they will not bring.
        trainable: the workloads that can be trained.
        in_published: whether the published release has what the figure is about.
    """
    names = list(dict.fromkeys(workloads))
    catalog = schema_folder() / "catalog" / "published_workloads.csv"
    published = set(pl.read_csv(catalog)["workload"])
    ways = []
    if in_published and PUBLISHED not in releases and published.intersection(names):
        ways.append(f"the published release ({FETCH})")
    producible = [name for name in names if name in trainable]
    commands = [f"`dbtool produce {name}`" for name in producible[:MOST_COMMANDS]]
    if commands:
        more = len(producible) - len(commands)
        ways.append(", ".join(commands) + (f" and {more} more like these" if more else ""))
    return " or ".join(ways)
