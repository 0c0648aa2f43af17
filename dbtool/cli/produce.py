"""The command that trains workloads and writes shards."""

import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import replace as replace_fields
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dbtool.cli import produce_options as option
from dbtool.cli import training_options as training

if TYPE_CHECKING:
    from producers.sweep.slices import Slice
    from producers.workloads.definition import Workload


def command(
    workload: option.Patterns = None,
    *,
    everything: option.Everything = False,
    preset: option.PresetName = None,
    batch_sizes: option.BatchSizeList = None,
    trials: option.Trials = None,
    feasible: option.Feasible = None,
    steps: option.Steps = None,
    budget: option.Budget = None,
    replace: option.Replacements = None,
    goal: option.Goal = None,
    out: option.Out = Path("runs"),
    release: option.ReleaseName = None,
    seed: option.Seed = 0,
    block: option.Block = 100,
    shared_batches: option.SharedBatches = False,
    datasets: option.Datasets = None,
    part: option.SliceOfSweep = None,
    on: option.On = None,
    cpus_per_task: option.CpusPerTask = 1,
    gpus_per_task: option.GpusPerTask = 0,
    dtype: training.ComputationType = training.Dtype.FLOAT32,
    devices_per_trial: training.DevicesPerTrial = 1,
    micro_batch: training.MicroBatch = None,
    checkpoint_minutes: training.CheckpointMinutes = 10.0,
    distributed: training.Distributed = False,
    measure: training.Measures = None,
    vocabulary: training.Vocabulary = None,
    dry_run: option.DryRun = False,
    list_workloads: option.ListWorkloads = False,
) -> None:
    """Train workloads and write their measurements as shards.

    A sweep that was stopped goes on where it stopped when the same command is given again.

    Example: dbtool produce mnist/fc_64_64_64/sgd --batch-sizes 64 --trials 100 --out runs
    """
    if list_workloads:
        _list_workloads(workload or ["*"])
        return

    from producers.plan import plan_studies
    from producers.workloads.presets import chosen_data, find_preset, quick_compilation
    from producers.workloads.replace import parse_replacement

    chosen = find_preset(preset)
    feasible = chosen.feasible if feasible is None else feasible
    wanted = _wanted(workload, everything)
    share = _share(part, on, feasible)
    replacements = [parse_replacement(text) for text in replace or []]
    sizes = _numbers(batch_sizes)
    with chosen_data(wanted, chosen, replacements, goal=goal, vocabulary=vocabulary) as found:
        studies = plan_studies(
            [replace_fields(each, dtype=dtype.value) for each, _ in found.values()],
            release=chosen.release if release is None else release,
            batch_sizes=sizes or chosen.batch_sizes,
            steps=chosen.steps if steps is None and budget is None else steps,
            budget_scale=chosen.budget if budget is None else budget,
            root_seed=seed,
            shared_batches=shared_batches,
            replacements={name: folder for name, (_, folder) in found.items() if folder},
        )
        # These import JAX, which wrong words need not wait for.
        from dbtool.cli.progress import sweep_progress
        from producers.devices import configure_devices, join_hosts
        from producers.sweep import SweepOptions, run_sweep

        options = SweepOptions(
            trials=chosen.trials if trials is None else trials,
            feasible=feasible,
            block=block,
            datasets=datasets,
            part=share,
            training=training.training_options(
                devices_per_trial, micro_batch, checkpoint_minutes, measure, vocabulary
            ),
        )
        configure_devices()
        if distributed:
            join_hosts()
        if dry_run:
            from producers.estimate import estimate

            for line in estimate(studies, out, options):
                typer.echo(line)
            return
        compiling = quick_compilation() if chosen.made_up else contextlib.nullcontext()
        with compiling, _interruptible(), sweep_progress(studies, out, options) as events:
            if on is option.Place.RAY:
                from producers.sweep.ray_run import TaskResources, run_on_ray

                resources = TaskResources(cpus_per_task, gpus_per_task)
                run_on_ray(studies, out, options, events, resources)
            else:
                run_sweep(studies, out, options, events)


def _wanted(patterns: list[str] | None, everything: bool) -> "list[Workload]":
    """The workloads to train.

    Raises:
        UsageError: when none are named, or some beside all of them.
    """
    from dbtool.errors import UsageError
    from producers.workloads.registry import find_workloads

    if everything and patterns:
        raise UsageError(f"--all trains every workload; leave out {' '.join(patterns)} or --all")
    if not patterns and not everything:
        raise UsageError(
            "name what to train, such as `dbtool produce mnist/fc_64_64_64/sgd`, or all with "
            "--all; `dbtool produce --list` lists the workloads"
        )
    return find_workloads(patterns or ["*"])


def _share(part: str | None, on: option.Place | None, feasible: int) -> "Slice | None":
    """The slice of the sweep to train; None for all of it.

    Raises:
        UsageError: when it is no slice, or clashes with other options.
    """
    from dbtool.errors import UsageError
    from producers.sweep.slices import Slice

    if part is None:
        return None
    share = Slice.parse(part)
    if on is not None:
        raise UsageError(
            "--slice shares a sweep between the tasks of a job array, and --on ray shares it "
            "between a cluster's workers; give one of them"
        )
    if feasible:
        raise UsageError(
            "--feasible and presets that have it need the results of all slices; train the slices "
            "with --feasible 0, then run the same command without --slice and --feasible 0"
        )
    return share


def _list_workloads(patterns: list[str]) -> None:
    """Prints a line a workload: its name, goal and published batch sizes."""
    from producers.workloads.registry import find_workloads

    workloads = find_workloads(patterns)
    width = max(len(workload.name) for workload in workloads)
    for workload in workloads:
        sizes = ",".join(str(size) for size in workload.batch_sizes)
        typer.echo(f"{workload.name:<{width}}  {_goal(workload)}  batch sizes {sizes}")


def _goal(workload: "Workload") -> str:
    """The goal as an inequality; of a workload without one the metric alone."""
    if workload.goal is None:
        return f"{workload.metric} without a goal"
    sign = (">" if workload.maximize else "<") + ("=" if workload.goal_inclusive else "")
    return f"{workload.metric} {sign} {workload.goal:g}"


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
