"""The arguments of the command, checked against what there is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dbtool.cli.completion import trainable_workloads
from dbtool.core.errors import UsageError, unknown
from dbtool.figures.specs import FIGURES, find_figure
from dbtool.store.questions import known_release, workload_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbtool.figures.points import Request
    from dbtool.figures.specs import FigureSpec
    from dbtool.store.database import Database

ALL = "all"
NARROWEST, WIDEST = 2.5, 40.0


def chosen_specs(names: Sequence[str], *, any_workloads: bool) -> list[FigureSpec]:
    """The figures of these names, each once, in the registry's order.

    Args:
        names: names and numbers, or "all".
        any_workloads: whether "all" are those that take any workloads.

    Raises:
        UsageError: one names no figure, or there is none.
    """
    if not names:
        raise UsageError("name a figure, or `all` (list them with `dbtool plot --list`)")
    if ALL in names:
        return [spec for spec in FIGURES if spec.takes_workloads or not any_workloads]
    chosen = {find_figure(name) for name in names}
    return [spec for spec in FIGURES if spec in chosen]


def chosen_formats(kind: str, listed: str, known: Sequence[str]) -> list[str]:
    """The names in a list joined by commas, each once.

    Args:
        kind: what a name is, such as "format".
        listed: the list.
        known: the names there are.

    Raises:
        UsageError: one of them is not known.
    """
    names = list(dict.fromkeys(name.strip().lower() for name in listed.split(",")))
    for name in names:
        if name not in known:
            raise unknown(kind, name, known, "dbtool plot --help")
    return names


def checked_width(width: float | None) -> float | None:
    """The width of a picture in inches.

    Raises:
        UsageError: no figure is so wide.
    """
    # Written so that a width that is no number fails, too.
    if width is not None and not NARROWEST <= width <= WIDEST:
        raise UsageError(
            f"a width of {width:g} inches is not between {NARROWEST:g} and {WIDEST:g}, "
            "such as --width 3.5 for a column of print"
        )
    return width


def checked(db: Database, request: Request) -> Request:
    """The request with releases trimmed, patterns of workloads replaced, and what can be trained.

    Raises:
        UsageError: the database lacks a release or a workload that is named.
    """
    release = request.release
    if release is not None:
        names = list(dict.fromkeys(name.strip() for name in release.split(",")))
        for name in names:
            known_release(db, name)
        release = ",".join(names)
    workloads = request.workloads
    if workloads is not None:
        # With several releases each workload need be in one of them only.
        alone = release if release is None or "," not in release else None
        workloads = tuple(workload_names(db, workloads, alone))
    trainable = frozenset(trainable_workloads())
    return replace(request, release=release, workloads=workloads, trainable=trainable)
