"""What the words of the command ask for, checked against what there is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dbtool.errors import UsageError, unknown
from dbtool.figures.look import STYLES, Look
from dbtool.figures.specs import FIGURES, find_figure
from dbtool.store.names import check_release, matching_workloads

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

    from dbtool.figures.points import Request
    from dbtool.figures.specs import FigureSpec

ALL = "all"


def chosen_specs(words: Sequence[str]) -> list[FigureSpec]:
    """The figures that the words name, each once, in the registry's order; all for "all".

    Raises:
        UsageError: a word names no figure, or there is none.
    """
    if not words:
        raise UsageError("name a figure, or `all` (list them with `dbtool plot --list`)")
    if ALL in words:
        return list(FIGURES)
    chosen = {find_figure(word) for word in words}
    return [spec for spec in FIGURES if spec in chosen]


def chosen_formats(kind: str, words: str, known: Sequence[str]) -> list[str]:
    """The names in a list joined by commas, each once.

    Args:
        kind: what a name is, such as "format".
        words: the list.
        known: the names there are.

    Raises:
        UsageError: one of them is not known.
    """
    names = list(dict.fromkeys(name.strip().lower() for name in words.split(",")))
    for name in names:
        if name not in known:
            raise unknown(kind, name, known, "dbtool plot --help")
    return names


def chosen_look(width: float | None, style: str | None) -> Look:
    """How large figures are drawn.

    Raises:
        UsageError: there is no such style, or the width is out of bounds.
    """
    chosen = [known for known in STYLES if style in (known, None)]
    if not chosen:
        raise unknown("style", str(style), STYLES, "dbtool plot --help")
    return Look(width, chosen[0])


def checked(connection: duckdb.DuckDBPyConnection, request: Request) -> Request:
    """The request with the releases' names trimmed and the patterns of workloads replaced.

    Raises:
        UsageError: the database lacks a release or a workload that is named.
    """
    release = request.release
    if release is not None:
        names = list(dict.fromkeys(name.strip() for name in release.split(",")))
        for name in names:
            check_release(connection, name)
        release = ",".join(names)
    workloads = request.workloads
    if workloads is not None:
        # With several releases each workload need be in one of them only.
        alone = release if release is None or "," not in release else None
        workloads = tuple(matching_workloads(connection, workloads, alone))
    return replace(request, release=release, workloads=workloads)
