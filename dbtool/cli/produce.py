"""The command that trains workloads and writes shards."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from dbtool.cli.completion import trainable_workloads


def command(
    workload: Annotated[
        list[str] | None,
        typer.Argument(
            help="Workloads, or patterns such as 'mnist/fc_*'.",
            autocompletion=trainable_workloads,
            show_default=False,
        ),
    ] = None,
    *,
    batch_sizes: Annotated[
        str | None,
        typer.Option(
            metavar="B,B,…",
            help="Global batch sizes; without it those of the published study.",
            show_default=False,
        ),
    ] = None,
    trials: Annotated[
        int,
        typer.Option(
            min=1, max=1_000_000, metavar="N", help="Train the trials 0 to N - 1 of each study."
        ),
    ] = 100,
    feasible: Annotated[
        int,
        typer.Option(
            min=0,
            max=100_000,
            metavar="N",
            help="Add trials until N of a study did not diverge, at most 5 N in all.",
        ),
    ] = 0,
    steps: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=100_000_000,
            metavar="N",
            help="Steps of each trial; without it the workload's budget.",
            show_default=False,
        ),
    ] = None,
    budget: Annotated[
        float,
        typer.Option(
            min=0.0, max=100.0, metavar="X", help="Multiplies the workload's budget of steps."
        ),
    ] = 1.0,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Where the shards go, and where the sweep goes on.")
    ] = Path("runs"),
    release: Annotated[
        str, typer.Option(metavar="NAME", help="The release that the measurements belong to.")
    ] = "local",
    seed: Annotated[
        int, typer.Option(min=0, help="Every random number of the sweep follows from it.")
    ] = 0,
    block: Annotated[
        int, typer.Option(min=1, metavar="N", help="Most trials that are trained together.")
    ] = 100,
    shared_batches: Annotated[
        bool, typer.Option("--shared-batches", help="Give all trials of a study the same batches.")
    ] = False,
    datasets: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            envvar="DBTOOL_DATASETS",
            help="Look for data sets here first.",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would run and train nothing.")
    ] = False,
    list_workloads: Annotated[
        bool,
        typer.Option("--list", help="Print the workloads, their goals and published batch sizes."),
    ] = False,
) -> None:
    """Train workloads and write their measurements as shards.

    A sweep that was stopped goes on where it stopped when the same command is given again.

    Example: dbtool produce mnist/fc_64_64_64/sgd --batch-sizes 64 --trials 100 --out runs
    """
    if list_workloads:
        _list_workloads(workload or ["*"])
        return

    from dbtool.errors import UsageError
    from producers.plan import plan_studies
    from producers.workloads.registry import find_workloads

    if not workload:
        raise UsageError(
            "name what to train, such as `dbtool produce mnist/fc_64_64_64/sgd`; "
            "`dbtool produce --list` lists the workloads"
        )
    studies = plan_studies(
        find_workloads(workload),
        release=release,
        batch_sizes=_numbers(batch_sizes),
        steps=steps,
        budget_scale=budget,
        root_seed=seed,
        shared_batches=shared_batches,
    )
    # These import JAX, which wrong words need not wait for.
    from dbtool.cli.progress import sweep_progress
    from producers.devices import configure_devices
    from producers.sweep import SweepOptions, run_sweep

    options = SweepOptions(trials=trials, feasible=feasible, block=block, datasets=datasets)
    configure_devices()
    if dry_run:
        from producers.estimate import estimate

        for line in estimate(studies, out, options):
            typer.echo(line)
        return
    with _interruptible(), sweep_progress(studies, out, options) as events:
        run_sweep(studies, out, options, events)


def _list_workloads(patterns: list[str]) -> None:
    """Prints a line a workload: its name, goal and published batch sizes."""
    from producers.workloads.registry import find_workloads

    workloads = find_workloads(patterns)
    width = max(len(workload.name) for workload in workloads)
    for workload in workloads:
        sign = ">" if workload.maximize else "<"
        sizes = ",".join(str(size) for size in workload.batch_sizes)
        typer.echo(
            f"{workload.name:<{width}}  {workload.metric} {sign} {workload.goal:g}  "
            f"batch sizes {sizes}"
        )


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Ends the process at once on Ctrl-C.

    Otherwise Python would wait, at its end, for a compiled call that may take minutes yet. Nothing
    is lost: every shard is whole, and the unfinished one has been cleared away.
    """
    try:
        yield
    except KeyboardInterrupt:
        from dbtool.cli.main import INTERRUPTED

        sys.stderr.write("dbtool: interrupted\n")
        sys.stderr.flush()
        os._exit(INTERRUPTED)


def _numbers(text: str | None) -> list[int] | None:
    """The whole numbers of a list with commas.

    Raises:
        UsageError: when it holds anything else.
    """
    from dbtool.errors import UsageError

    if text is None:
        return None
    try:
        return [int(word) for word in text.split(",")]
    except ValueError as error:
        raise UsageError(
            f"batch sizes {text!r} are not whole numbers with commas between them, "
            "such as --batch-sizes 1,64,4096"
        ) from error
