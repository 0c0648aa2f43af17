"""The commands that draw: figures as files, and the explorer, a page for the browser."""

import contextlib
import webbrowser
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dbtool.cli import options
from dbtool.cli.database import reading
from dbtool.cli.messages import bar, tell
from dbtool.core.errors import UsageError, counted
from dbtool.figures.specs import (
    ALL,
    DATA_FORMATS,
    FIGURES,
    FORMATS,
    Caption,
    FigureLayout,
    chosen_formats,
    chosen_specs,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dbtool.database import Database as Opened
    from dbtool.figures.batch import Written
    from dbtool.figures.points import NoDataError, Request
    from dbtool.figures.specs import FigureSpec


def plot(
    figure: Annotated[list[str] | None, typer.Argument(autocompletion=options.figures)] = None,
    *,
    workload: options.WorkloadOption = None,
    goal: float | None = None,
    trials: int | None = None,
    sustained: int = 1,
    output_format: Annotated[str | None, typer.Option("--format")] = None,
    out: Path | None = None,
    bands: Annotated[bool | None, typer.Option("--bands/--no-bands")] = None,
    through: str | None = None,
    width: float | None = None,
    title: Annotated[bool | None, typer.Option("--title/--no-title")] = None,
    caption: Caption | None = None,
    data: str | None = None,
    sql: Annotated[bool, typer.Option("--sql")] = False,
    list_figures: Annotated[bool, typer.Option("--list")] = False,
    verbose: Annotated[bool, typer.Option("--verbose")] = False,
    db: str | None = None,
    fetch_up_to: options.FetchUpTo = options.FETCH_UP_TO,
    release: options.Release = None,
) -> None:
    """Draw figures, and write their points as CSV beside them.

    Writes FIGURE.png and FIGURE.csv for each, and prints the files' names. `all` draws every figure
    that the database has data for, and says on standard error how many it left out.

    Example: dbtool plot steps --workload 'mnist/fc_*' --format png,pdf

    Args:
        figure (FIGURE...|all): Names or numbers of figures, such as figure_01, 9a or steps; see
            `dbtool plot --list`.
        workload (W): For the figures of any workloads, such as steps: only this workload, or a
            pattern in quotes such as 'mnist/fc_*'; may be given more than once.
        trials (N): Of each study, the first N trials; without it as many as the figure says.
        output_format (png,pdf,svg): Kinds of file, joined by commas; without it png. With --list
            how rows are printed, such as csv or json.
        out (DIR): The folder for the files; without it figures.
        bands: Draw bands at equal numbers of trials, or none; without it on the curves of the
            figures of any workloads, and not on the papers' own.
        through (fit|first): Lines of perfect scaling: limits of the curves that `dbtool scaling`
            fits, or through first points as in the papers. Without it as the figure says.
        width (INCHES): How wide the picture is; without it as wide as suits its panels. Below 4.5
            it is for a column of print, such as 3.5: without title and caption, at most 3.5 high,
            and of several panels a picture each, FIGURE-1.png and so on.
        title: Whether the picture has a title.
        caption: Write a caption of three lines into the picture, none, or all that can be told into
            FIGURE.txt.
        data (csv,json,parquet): Write the points alone, in these kinds of file, joined by commas.
        sql: Print the figures' queries instead.
        list_figures: List the figures instead.
        verbose: With `all`, name what was left out and the commands that fill it.
        release (NAME[,NAME...]): Only rows of this release; several joined by commas are drawn over
            each other. See `dbtool releases`.
    """
    from dbtool.figures.points import Request

    _check_together(
        {"--list": list_figures, "--sql": sql, "--data": data},
        {
            "--format": output_format,
            "--out": out,
            "--width": width,
            "--title" if title else "--no-title": title,
            "--caption": caption,
        },
    )
    named = Request(
        release,
        trials,
        goal,
        tuple(workload) if workload else None,
        through=through,
        bands=bands,
        sustained=sustained,
    )
    if list_figures:
        _print_list(output_format or "table")
        return
    specs = chosen_specs(figure or [], any_workloads=workload is not None)
    if sql:
        _print_queries(specs, named, db)
        return
    every = ALL in (figure or [])
    if not every:
        _tell_unused(specs, named)
    layout = FigureLayout(width, title, caption)
    from dbtool.figures.batch import write_figures

    if data is None:
        formats = [*chosen_formats("format", output_format or "png", FORMATS), "csv"]
    else:
        formats = chosen_formats("kind of data", data, DATA_FORMATS)
    with reading(db, fetch_up_to=fetch_up_to) as database:
        request = _checked_request(database, named)
        if any(spec.kind != "forest" for spec in specs):
            _tell_other_releases(database, request)
        with contextlib.closing(
            write_figures(database, specs, request, out or Path("figures"), formats, layout)
        ) as written:
            _tell_written(written, every=every, brief=every and not verbose)


def _tell_unused(specs: "Iterable[FigureSpec]", request: "Request") -> None:
    """Report options that change nothing in a figure."""
    given = {
        "--goal": ("goal", request.goal is not None),
        "--sustained": ("goal", request.sustained > 1),
        "--trials": ("trials", request.trials is not None),
    }
    for spec in specs:
        if request.bands and not spec.takes("bands"):
            tell(f"{spec.name} has no bands: its points are not each the best of a search")
        for option, (parameter, is_given) in given.items():
            if is_given and not spec.takes(parameter):
                tell(f"{option} changes nothing in {spec.name}")


def _checked_request(database: "Opened", request: "Request") -> "Request":
    # Drawing takes a while to import.
    from dbtool.figures.plot import checked

    return checked(database, replace(request, trainable=frozenset(options.trainable_workloads())))


def _tell_other_releases(database: "Opened", request: "Request") -> None:
    """Report workloads that are in several releases, of which one is drawn."""
    if request.release is None and request.workloads:
        held = database.studies(request.workloads)["release"].unique(maintain_order=True)
        if len(held) > 1:
            tell(
                f"{', '.join(held)} hold workloads of these names, and the one with most studies "
                f"is drawn: --release {','.join(held)} draws them over each other"
            )


def _tell_written(written: "Iterable[Written]", *, every: bool, brief: bool) -> None:
    """Print the files' names, and report figures without data.

    Args:
        written: results, figure by figure.
        every: whether figures without data are only reported, as long as one has data.
        brief: whether figures without data are counted instead of named.
    """
    empty: list[NoDataError] = []
    drawn = incomplete = 0
    for made in written:
        for path in made.stale:
            tell(f"{path} shows points of an earlier run: draw it again, or remove it")
        if made.reason:
            empty.append(made.reason)
            continue
        typer.echo("\n".join(map(str, made.files)))
        drawn += 1
        incomplete += bool(made.missing)
        if not brief:
            for line in made.missing:
                tell(line)
    reported = empty if every and drawn else empty[:-1]
    if brief and (reported or incomplete):
        whole = [counted(len(reported), "figure")] if reported else []
        parts = [f"parts of {incomplete:,}"] if incomplete else []
        tell(
            f"left out, for want of data: {', and '.join(whole + parts)}; "
            "--verbose names them and what would fill them"
        )
    elif not brief:
        for each in reported:
            tell(f"left out: {each}")
    if len(reported) < len(empty):
        raise empty[-1]


def _check_together(outputs: "Mapping[str, object]", details: "Mapping[str, object]") -> None:
    """Refuse options that contradict each other.

    Args:
        outputs: options that each request something other than pictures in files, by name.
        details: options about files of pictures.
    """
    wanted = next((name for name, value in outputs.items() if value), None)
    of_use = {"--data": "--out", "--list": "--format"}
    for name, value in {**outputs, **details}.items():
        is_given = bool(value) if name in outputs else value is not None
        if wanted and is_given and name not in (wanted, of_use.get(wanted)):
            raise UsageError(f"{name} has no effect with {wanted}; give one of the two")


def _print_list(output_format: str) -> None:
    import pyarrow as pa

    from dbtool.cli.output import print_table

    [chosen, *_] = chosen_formats("format", output_format, tuple(options.Format))
    rows = [{"figure": spec.name, "title": spec.title} for spec in FIGURES]
    print_table(pa.Table.from_pylist(rows), options.Format(chosen))


def _print_queries(specs: "Sequence[FigureSpec]", request: "Request", db: str | None) -> None:
    """Print the figures' queries; the database is opened only to match names of workloads."""
    from dbtool.figures.points import filled_query

    if request.workloads is not None:
        with reading(db) as database:
            request = _checked_request(database, request)
    for spec in specs:
        typer.echo(filled_query(spec, request), nl=False)


def explore(
    *,
    workload: options.WorkloadOption = None,
    out: Path = Path("explorer.html"),
    show: Annotated[bool, typer.Option("--open")] = False,
    db: str | None = None,
    fetch_up_to: options.FetchUpTo = options.FETCH_UP_TO,
    release: options.Release = None,
) -> None:
    """Write a page for the browser on which goals are sliders and points lead to their trials.

    The page is one file, which holds all that it shows: it needs no network and no server, and
    sends nothing anywhere. Prints the file's name. Where there are more than ten million values,
    the page has no curves, and of each workload only the metric of its goal.

    Example: dbtool explore --workload 'mnist/*' --out mnist.html

    Args:
        workload (W): Only this workload, or a pattern in quotes such as 'mnist/fc_*'; may be given
            more than once.
        out (FILE.html): The file to write.
        show: Show the page in the browser, too.
    """
    with (
        reading(db, release, fetch_up_to=fetch_up_to) as database,
        bar("making the page", "workloads") as on_progress,
    ):
        database.explore(
            out,
            workload or None,
            trainable=options.trainable_workloads(),
            on_progress=on_progress,
            on_message=tell,
        )
    typer.echo(out)
    if show and not webbrowser.open(out.resolve().as_uri()):
        tell(f"no browser was found: open {out} in one")
