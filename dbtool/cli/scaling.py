"""The command that reports how far larger batches help."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dbtool.analysis.kinds import Form, Kind
from dbtool.cli import options
from dbtool.cli.table import View
from dbtool.core.errors import UsageError, printable
from dbtool.core.files import expanded
from dbtool.figures.specs import format_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dbtool.analysis.scaling import Scaling
    from dbtool.report.scaling import ScalingReport

_FITTING = ["release", "workload", "goal", "tradeoff", "overhead"]
# The most informative columns of each kind of rows, which a table shows.
_FIRST: dict[Kind, tuple[str, ...]] = {
    "critical": (
        *("release", "workload", "definition", "critical_batch_size", "low", "high"),
        *("verdict", "learning_rate"),
    ),
    "regimes": (
        *("release", "workload", "bend", "perfect_to", "perfect_to_low", "perfect_to_high"),
        *("useful_to", "useful_to_low", "useful_to_high"),
    ),
    "steps": ("release", "workload", "batch_size", "steps", "low", "high", "after", "fitted"),
    "ratios": ("release", "workload", "against", "definition", "ratio", "low", "high"),
    "learning_rates": (
        *("release", "workload", "batch_size", "best", "low", "high", "law", "fitted"),
    ),
    "noise_scale": (
        *("release", "workload", "batch_size", "phase", "noise_scale", "low", "high"),
        *("critical_batch_size", "ratio"),
    ),
    "branches": (
        *("release", "workload", "batch_size", "step", "critical_batch_size", "low", "high"),
        *("noise_scale", "own_noise_scale", "trials"),
    ),
    "comparison": (
        *("release", "model", "batch_size", "optimizer", "other", "win", "win_low", "win_high"),
        *("k", "dataset", "loss", "missing"),
    ),
    "costs": (
        *("release", "workload", "devices", "batch_size", "low", "high", "hours", "hours_low"),
        *("hours_high", "device_hours"),
    ),
    "law": ("definition", "law", "exponent", "low", "high", "factor", "workloads"),
    "recommended": (
        *("release", "workload", "batch_size", "steps", "steps_low", "steps_high"),
        *("learning_rate", "learning_rate_low", "learning_rate_high"),
        *("momentum", "momentum_low", "momentum_high"),
    ),
    "profiles": (
        *("optimizer", "factor", "share", "share_low", "share_high", "reached_share", "cells", "k"),
    ),
}
# Of numbers that have intervals.
_DIGITS = 4


def scaling(
    workload: options.AnyWorkloads = None,
    *,
    csv: Annotated[Path | None, typer.Option("--csv")] = None,
    goal: Annotated[str | None, typer.Option("--goal")] = None,
    metric: str | None = None,
    trials: int | None = None,
    overhead: float = 0.2,
    start: Annotated[float | None, typer.Option("--from")] = None,
    level: float = 0.95,
    curve: Annotated[Form, typer.Option("--curve")] = "bent",
    against: str | None = None,
    sustained: int | None = None,
    step_time: str | None = None,
    devices: int = 1,
    at: Annotated[float | None, typer.Option("--at", "--recommend")] = None,
    law: str | None = None,
    values: Annotated[Path | None, typer.Option("--with")] = None,
    rows: Kind | None = None,
    out: Path | None = None,
    width: float | None = None,
    columns: str | None = None,
    wide: options.Wide = False,
    db: str | None = None,
    fetch_up_to: options.FetchUpTo = options.FETCH_UP_TO,
    release: options.Release = None,
    output_format: options.OutputFormat = options.Format.TABLE,
) -> None:
    """Tell how far larger batches help on a workload, and how sure that is.

    First in words, then a row a workload with its critical batch size by two definitions: the
    tradeoff, the quotient of the fewest examples to the fewest steps; and the overhead, where steps
    exceed linear scaling by a share. Searches are compared at equal numbers of trials, and what the
    data cannot tell is said. `--format markdown` and `latex` print a row a workload; other formats
    a row a workload and definition.

    Example: dbtool scaling 'mnist/fc_*'

    Args:
        csv (FILE): Steps to result of any origin in place of a database's: a table with the columns
            batch_size, steps and, if there are several, workload. Rows of one batch size are
            replicates; or a row has it, with the columns n and sd, or lower and upper.
        goal (X,X,…): The values of the metric to get past, in place of each workload's own.
        trials (K): Compare the best of K trials; without it of the fewest of any study with 5 or
            more, if half of the studies have so many, else with 2 or more.
        overhead (X): The share by which steps exceed linear scaling at the critical batch size of
            that definition, and examples or steps the fewest where perfect scaling and gains end.
        start (B): The batch size from which scaling is linear; without it the smallest.
        level (P): The level of all intervals.
        curve: Fit curves of any bend, or a `hyperbola` alone.
        against (WORKLOAD): Compare critical batch sizes with this workload's, as ratios; where
            several releases have it, RELEASE:WORKLOAD.
        step_time (SECONDS): How long a step of B examples takes on one device, such as
            '50ms + 0.1ms*B', or a CSV file with the columns batch_size and seconds: tell the
            quickest run, the cheapest, and those between.
        devices (N): The most devices for these runs, each with an equal share of the examples.
        at (B): Tell the steps, the learning rate and the momentum of a batch size, also of one
            between those that were measured.
        law (COLUMN): Fit critical batch sizes as a power of this column of workloads.
        values (FILE): A table with the columns workload and that of --law, in place of the
            database's or of the table of --csv.
        rows (KIND): Print these rows in place of words: `critical` batch sizes with what they come
            from, `regimes` with their ends, `steps` of the best of K trials, `ratios` of critical
            batch sizes to that of the workload of --against, `learning_rates`, the gradient
            `noise_scale` where it was measured, critical batch sizes by the `branches` of
            `dbtool produce --branch-at`, `comparison` of pairs of optimizers, performance
            `profiles` of them, `costs` of runs, the `law`, or what is `recommended` by --at.
        out (FILE): Draw steps to result with what was found, or of several goals the critical batch
            size against the goal: a file that ends with .png, .pdf or .svg, and the points as .csv
            beside it.
        width (INCHES): How wide that is; below 4.5 for a column of print, without title and
            caption, and of several workloads a picture each.
    """
    _check_words(
        csv,
        out,
        {
            "WORKLOAD": workload,
            "--db": db,
            "--release": release,
            "--goal": goal,
            "--metric": metric,
            "--trials": trials,
            "--against": against,
            "--sustained": sustained,
        },
    )
    if width is not None and out is None:
        raise UsageError("--width is that of a picture: name its file with --out")
    from dbtool.cli.database import reading, tell_left_out, tell_unlike_definitions
    from dbtool.cli.output import require_printable
    from dbtool.report.scaling import scaling_of_table

    require_printable(output_format)
    shared: dict[str, Any] = {
        "overhead": overhead,
        "start": start,
        "level": level,
        "curve": curve,
        "step_time": step_time,
        "devices": devices,
        "at": at,
        "law": law,
        "values": values,
    }
    with contextlib.ExitStack() as stack:
        if csv is not None:
            report = scaling_of_table(csv, **shared)
        else:
            database = stack.enter_context(reading(db, release, fetch_up_to=fetch_up_to))
            tell_unlike_definitions(database, workload or ["*"], release)
            report = database.scaling(
                workload or "*",
                goal=None if goal is None else _numbers(goal),
                metric=metric,
                trials=trials,
                against=against,
                sustained=1 if sustained is None else sustained,
                release=release,
                **shared,
            )
            tell_left_out(database, workload or ["*"], metric, goal, release)
        _print_report(report, rows, output_format, columns, wide=wide)
        if out is not None:
            from dbtool.cli.messages import tell
            from dbtool.figures.batch import writing

            drawn = report.plot(width, tell)
            with writing(out.parent):
                for path in drawn.save_with_points(out):
                    tell(str(path))


def _numbers(text: str) -> list[float]:
    """Return the numbers of a text such as 0.02,0.01."""
    try:
        return [float(each) for each in text.split(",")]
    except ValueError:
        raise UsageError(
            f"--goal takes numbers joined by commas, such as 0.02,0.01, and not {text!r}"
        ) from None


def _check_words(csv: Path | None, out: Path | None, of_database: "Mapping[str, object]") -> None:
    """Refuse options that contradict each other, and a picture that could not be written."""
    if out is not None:
        format_of(expanded(out))
        if out.parent.exists() and not out.parent.is_dir():
            raise UsageError(f"{out.parent} is not a folder: name another one with --out")
        from dbtool.figures.points import require_no_other

        for path in (expanded(out), expanded(out).with_suffix(".csv")):
            require_no_other(path)
    for name, value in of_database.items() if csv else ():
        if value is not None:
            raise UsageError(f"--csv takes the place of a database; leave out {name}")


def _print_report(
    report: "ScalingReport",
    rows: Kind | None,
    output_format: options.Format,
    columns: str | None,
    *,
    wide: bool,
) -> None:
    import polars.selectors

    from dbtool.cli.messages import tell
    from dbtool.cli.output import print_table
    from dbtool.report.tables import lack_of_rows

    if rows is None and output_format in options.FOR_READERS:
        if output_format is options.Format.TABLE and columns is None:
            _print_words(report)
        else:
            for few in report.left_out():
                tell(few)
        view = View(_FITTING, columns, wide)
        print_table(report.in_short().to_arrow(), output_format, view=view)
        return
    kind = rows or "critical"
    made = report.rows(kind)
    if output_format in options.FOR_READERS:
        made = made.with_columns(polars.selectors.float().round_sig_figs(_DIGITS))
    print_table(made.to_arrow(), output_format, view=View(_FIRST[kind], columns, wide))
    if lack := lack_of_rows(kind, made):
        tell(lack)
    for few in report.left_out(kind):
        tell(few)


def _print_words(report: "ScalingReport") -> None:
    from dbtool.report.words import PARAGRAPHS

    for answer, heading, statements in report.statements():
        typer.echo(printable(heading))
        for statement in statements:
            typer.echo(PARAGRAPHS.fill(printable(statement)))
        if answer.workload is not None and answer.scaling.wanted:
            _print_command(answer.workload, answer.scaling)
        typer.echo()
    for statement in report.of_law():
        typer.echo(PARAGRAPHS.fill(printable(statement)))
        typer.echo()


def _print_command(workload: str, scaling: "Scaling") -> None:
    """Print the command that trains the studies that are wanted, for a known workload."""
    from producers.workloads.registry import WORKLOADS

    if workload in WORKLOADS:
        sizes = ",".join(map(str, scaling.wanted))
        trials = f" --trials {scaling.trials}" if scaling.trials else ""
        typer.echo(f"    dbtool produce {workload} --batch-sizes {sizes}{trials} --out runs")
