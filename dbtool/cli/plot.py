"""The command that draws figures."""

import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dbtool.cli.completion import figures, held_releases, held_workloads
from dbtool.cli.options import Database

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dbtool.figures.points import Request
    from dbtool.figures.specs import FigureSpec

DEFAULT_FORMAT = "png"
DEFAULT_FOLDER = Path("figures")


def command(
    figure: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FIGURE...|all",
            help="Names or numbers of figures, such as figure_01, 9a or steps; "
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
            help="For the figures of any workloads, such as steps: only this workload, or a "
            "pattern in quotes such as 'mnist/fc_*'; may be given more than once.",
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
        str | None,
        typer.Option(
            "--format",
            metavar="png,pdf,svg",
            help=f"Kinds of file, joined by commas; without it {DEFAULT_FORMAT}.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help=f"The folder for the files; without it {DEFAULT_FOLDER}.",
            show_default=False,
        ),
    ] = None,
    width: Annotated[
        float | None,
        typer.Option(
            "--width",
            metavar="INCHES",
            help="How wide the picture is, such as 3.5 for a column of print; without it as wide "
            "as suits its panels.",
            show_default=False,
        ),
    ] = None,
    style: Annotated[
        str | None,
        typer.Option(
            "--style",
            metavar="print|screen",
            help="For a page of print, or larger type for slides and web pages; without it print.",
            show_default=False,
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="DIR",
            help="Write DIR/index.html instead: every figure with its query and its points, on "
            "one page that needs no network and no server.",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="csv,json,parquet",
            help="Write the points alone, in these kinds of file, joined by commas.",
            show_default=False,
        ),
    ] = None,
    sql: Annotated[bool, typer.Option("--sql", help="Print the figures' queries instead.")] = False,
    list_figures: Annotated[
        bool,
        typer.Option(
            "--list", help="List the figures instead, and how many panels have data here."
        ),
    ] = False,
    db: Database = None,
    release: Annotated[
        str | None,
        typer.Option(
            "--release",
            metavar="NAME[,NAME...]",
            help="Only rows of this release; several joined by commas are drawn over each other. "
            "See `dbtool releases`.",
            autocompletion=held_releases,
            show_default=False,
        ),
    ] = None,
) -> None:
    """Draw figures, and write their points as CSV beside them.

    Writes FIGURE.png and FIGURE.csv for each, and prints the files' names. `all` draws every figure
    that the database has data for, and says on standard error which it left out.

    Example: dbtool plot steps --workload 'mnist/fc_*' --format png,pdf
    """
    from dbtool.errors import UsageError
    from dbtool.figures.points import Request

    if goal is not None and not math.isfinite(goal):
        raise UsageError(f"--goal {goal} is not a finite number, such as --goal 0.03")
    _check_together(
        {"--list": list_figures, "--sql": sql, "--data": data, "--html": html},
        {"--format": output_format, "--out": out, "--width": width, "--style": style},
    )
    request = Request(release, trials, goal, tuple(workload) if workload else None)
    if list_figures:
        _print_list(request, db)
    elif sql:
        _print_queries(_specs(figure, request), request, db)
    else:
        _write(figure or [], request, db, _Target(output_format, out, width, style, html, data))


@dataclass(frozen=True)
class _Target:
    """What is written and where: the options of these names, None where they are not given."""

    formats: str | None
    out: Path | None
    width: float | None
    style: str | None
    html: Path | None
    data: str | None


def _check_together(outputs: "Mapping[str, object]", details: "Mapping[str, object]") -> None:
    """Refuses options that contradict each other.

    Args:
        outputs: options that each ask for something else than pictures in files, by name.
        details: options about files of pictures.

    Raises:
        UsageError: two outputs are asked for, or an output and a detail it has no use for.
    """
    from dbtool.errors import UsageError

    asked = [name for name, value in outputs.items() if value]
    if len(asked) > 1:
        raise UsageError(f"{asked[0]} and {asked[1]} ask for different things; give one of them")
    of_use = {"--out"} if asked == ["--data"] else set()
    for name, value in details.items():
        if asked and value is not None and name not in of_use:
            raise UsageError(f"{name} plays no part with {asked[0]}; leave one of them out")


def _specs(words: "list[str] | None", request: "Request") -> "list[FigureSpec]":
    """The figures that the words name; with workloads, of all those that take any."""
    from dbtool.cli.plotting.request import ALL, chosen_specs

    specs = chosen_specs(words or [])
    if request.workloads is not None and ALL in (words or []):
        return [spec for spec in specs if spec.takes_workloads]
    return specs


def _print_list(request: "Request", db: Path | None) -> None:
    from dbtool.cli.database import reading
    from dbtool.cli.plotting.listing import print_list
    from dbtool.cli.plotting.request import checked

    with reading(db) as connection:
        print_list(connection, checked(connection, request))


def _print_queries(specs: "Sequence[FigureSpec]", request: "Request", db: Path | None) -> None:
    """Prints the figures' queries; the database is opened only to match names of workloads."""
    from dbtool.cli.database import reading
    from dbtool.cli.plotting.request import checked
    from dbtool.figures.points import filled_query

    if request.workloads is not None:
        with reading(db) as connection:
            request = checked(connection, request)
    for spec in specs:
        sys.stdout.write(filled_query(spec, request))


def _write(words: "list[str]", request: "Request", db: Path | None, target: _Target) -> None:
    """Draws the figures, or writes their points or their page."""
    from dbtool.cli.database import reading
    from dbtool.cli.plotting import drawing
    from dbtool.cli.plotting.data import DATA_FORMATS
    from dbtool.cli.plotting.request import ALL, checked, chosen_formats, chosen_look
    from dbtool.figures.specs import FORMATS

    specs = _specs(words, request)
    look = chosen_look(target.width, target.style)
    folder = target.out or DEFAULT_FOLDER
    if target.data is None:
        formats = chosen_formats("format", target.formats or DEFAULT_FORMAT, FORMATS)
    else:
        formats = chosen_formats("kind of data", target.data, DATA_FORMATS)
    with reading(db) as connection:
        job = drawing.Job(connection, specs, checked(connection, request), skip_empty=ALL in words)
        if target.html is not None:
            drawing.write_gallery(job, target.html)
        elif target.data is not None:
            drawing.write_rows(job, folder, formats)
        else:
            drawing.draw_files(job, folder, formats, look)
