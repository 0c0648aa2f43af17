"""The command that draws figures."""

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dbtool.cli.completion import figures, held_workloads
from dbtool.cli.options import Database, Release

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

    from dbtool.figures.points import Request
    from dbtool.figures.specs import FigureSpec

ALL = "all"


def command(
    figure: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FIGURE...|all",
            help="Names or numbers of figures, such as figure_01, 3 or steps; "
            "see `dbtool plot --list`.",
            autocompletion=figures,
            show_default=False,
        ),
    ] = None,
    *,
    workload: Annotated[
        list[str] | None,
        typer.Option(
            "--workload",
            metavar="W",
            help="For steps and learning-rates: only this workload, or a pattern in quotes such as "
            "'mnist/fc_*'; may be given more than once.",
            autocompletion=held_workloads,
            show_default=False,
        ),
    ] = None,
    goal: Annotated[
        float | None,
        typer.Option(
            "--goal",
            metavar="X",
            help="The value to get strictly past, in every panel; without it the figure's own.",
            show_default=False,
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            "--trials",
            min=1,
            metavar="N",
            help="Of each study, the first N trials; without it as many as the figure says.",
            show_default=False,
        ),
    ] = None,
    output_format: Annotated[
        str,
        typer.Option("--format", metavar="png,pdf,svg", help="Kinds of file, joined by commas."),
    ] = "png",
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="The folder for the files.")
    ] = Path("figures"),
    sql: Annotated[
        bool, typer.Option("--sql", help="Print the figure's query and draw nothing.")
    ] = False,
    list_figures: Annotated[
        bool, typer.Option("--list", help="List the figures and draw nothing.")
    ] = False,
    db: Database = None,
    release: Release = None,
) -> None:
    """Draw figures, and write their points as CSV beside them.

    Writes FIGURE.png and FIGURE.csv for each, and prints the files' names. `all` draws every figure
    that the database has data for, and says on standard error which it left out.

    Example: dbtool plot steps --workload 'mnist/fc_*' --format png,pdf
    """
    from dbtool.errors import UsageError
    from dbtool.figures.points import Request

    if list_figures:
        _print_list()
        return
    if not figure:
        raise UsageError("name a figure, or `all` (list them with `dbtool plot --list`)")
    if goal is not None and not math.isfinite(goal):
        raise UsageError(f"--goal {goal} is not a finite number, such as --goal 0.03")
    specs = _specs(figure)
    if workload and ALL in figure:
        specs = [spec for spec in specs if spec.takes_workloads]
    request = Request(release, trials, goal, tuple(workload) if workload else None)
    formats = _formats(output_format)
    if sql:
        _print_queries(specs, request, db)
    else:
        _draw_all(specs, request, formats, out, db, skip_empty=ALL in figure)


def _print_queries(specs: "Sequence[FigureSpec]", request: "Request", db: Path | None) -> None:
    """Prints the figures' queries; the database is opened only to match names of workloads."""
    from dbtool.cli.database import reading
    from dbtool.figures.points import filled_query

    if request.workloads is not None:
        with reading(db) as connection:
            request = _with_matching_workloads(connection, request)
    for spec in specs:
        sys.stdout.write(filled_query(spec, request))


def _print_list() -> None:
    """Prints a line a figure: its name and what it answers."""
    from dbtool.figures.specs import FIGURES

    width = max(len(spec.name) for spec in FIGURES)
    for spec in FIGURES:
        sys.stdout.write(f"{spec.name:<{width}}  {spec.question}\n")


def _specs(words: "Sequence[str]") -> "list[FigureSpec]":
    """The figures that the words name, each once; every figure for the word "all"."""
    from dbtool.figures.specs import FIGURES, find_figure

    if ALL in words:
        return list(FIGURES)
    return list(dict.fromkeys(find_figure(word) for word in words))


def _formats(word: str) -> list[str]:
    """The kinds of file that a list joined by commas names, each once.

    Raises:
        UsageError: one of them is not known.
    """
    from dbtool.errors import unknown
    from dbtool.figures.specs import FORMATS

    names = list(dict.fromkeys(name.strip().lower() for name in word.split(",")))
    for name in names:
        if name not in FORMATS:
            raise unknown("format", name, FORMATS, "dbtool plot --help")
    return names


def _draw_all(
    specs: "Sequence[FigureSpec]",
    request: "Request",
    formats: "Sequence[str]",
    out: Path,
    db: Path | None,
    *,
    skip_empty: bool,
) -> None:
    """Draws the figures, and tells which had no data.

    Raises:
        NoDataError: none was drawn, or one that was named has no data.
    """
    from dbtool.cli.database import reading
    from dbtool.errors import DbtoolError
    from dbtool.figures.points import NoDataError

    empty: list[NoDataError] = []
    with reading(db) as connection:
        request = _with_matching_workloads(connection, request)
        for spec in specs:
            try:
                _draw_one(connection, spec, request, formats, out)
            except NoDataError as error:
                empty.append(error)
            except OSError as error:
                reason = error.strerror or str(error)
                raise DbtoolError(f"cannot write to {str(out)!r}: {reason}") from error
    reported = empty if skip_empty and len(empty) < len(specs) else empty[:-1]
    for each in reported:
        sys.stderr.write(f"left out: {each}\n")
    if len(reported) < len(empty):
        raise empty[-1]


def _draw_one(
    connection: "duckdb.DuckDBPyConnection",
    spec: "FigureSpec",
    request: "Request",
    formats: "Sequence[str]",
    out: Path,
) -> None:
    """Draws one figure, prints the names of its files, and tells which parts had no data."""
    from dbtool.figures.caption import left_out_names
    from dbtool.figures.files import write_figure
    from dbtool.figures.points import read_points

    points = read_points(connection, spec, request)
    for path in write_figure(points, spec, out, formats):
        sys.stdout.write(f"{path}\n")
    missing = left_out_names(points)
    if missing:
        sys.stderr.write(
            f"{spec.name}: no data in release {points.release}: {'; '.join(missing)}\n"
        )


def _with_matching_workloads(
    connection: "duckdb.DuckDBPyConnection", request: "Request"
) -> "Request":
    """The request with its patterns of workloads replaced by the names that match."""
    from dataclasses import replace

    from dbtool.cli.names import check_release, matching_workloads

    if request.workloads is None:
        check_release(connection, request.release)
        return request
    names = matching_workloads(connection, request.workloads, request.release)
    return replace(request, workloads=tuple(names))
