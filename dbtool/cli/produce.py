"""The command that trains workloads and writes shards."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dbtool.cli import produce_options as option
from dbtool.cli import training_options as training
from producers.lockstep.words import SearchWords

if TYPE_CHECKING:
    from producers.plan import StudyPlan
    from producers.sweep import SweepOptions
    from producers.sweep.slices import Slice
    from producers.workloads.definition import Workload


def command(
    workload: option.Patterns = None,
    *,
    everything: option.Everything = False,
    plan: option.PlanFile = None,
    preset: option.PresetName = None,
    batch_sizes: option.BatchSizeList = None,
    trials: option.Trials = None,
    feasible: option.Feasible = None,
    steps: option.Steps = None,
    budget: option.Budget = None,
    search: option.SearchName = None,
    dropping: option.Dropping = None,
    reaching: option.Reaching = None,
    wide_trials: option.WideTrials = None,
    wide_at: option.WideAt = None,
    replace: option.Replacements = None,
    goal: option.Goal = None,
    out: option.Out = Path("runs"),
    release: option.ReleaseName = None,
    seed: option.Seed = None,
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

    from dbtool.cli.produce_studies import Words, chosen_studies

    share = None if part is None else _share(part, on)
    words = Words(
        workload=workload,
        everything=everything,
        preset=preset,
        batch_sizes=batch_sizes,
        trials=trials,
        feasible=feasible,
        steps=steps,
        budget=budget,
        search=SearchWords(search, dropping, reaching, wide_trials, wide_at),
        replace=replace,
        goal=goal,
        release=release,
        seed=seed,
        shared_batches=shared_batches,
    )
    with chosen_studies(
        words, plan, dtype=dtype.value, vocabulary=vocabulary, sliced=share is not None
    ) as studies:
        if on is not None:
            _refuse_lockstep_on_ray(studies)
        # These import JAX, which wrong words need not wait for.
        from producers.devices import configure_devices, join_hosts
        from producers.sweep import SweepOptions

        options = SweepOptions(
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
        with _compiling(preset), _interruptible():
            _train(studies, out, options, on, (cpus_per_task, gpus_per_task))


def _train(
    studies: "list[StudyPlan]",
    out: Path,
    options: "SweepOptions",
    on: option.Place | None,
    cpus_and_gpus: tuple[int, int],
) -> None:
    """Trains what is missing, and shows how far it is."""
    from dbtool.cli.progress import sweep_progress
    from producers.sweep import run_sweep

    with sweep_progress(studies, out, options) as events:
        if on is option.Place.RAY:
            from producers.sweep.ray_run import TaskResources, run_on_ray

            run_on_ray(studies, out, options, events, TaskResources(*cpus_and_gpus))
        else:
            run_sweep(studies, out, options, events)


def _compiling(preset: str | None) -> contextlib.AbstractContextManager[None]:
    """Compiles as suits what is trained: trials of a few steps are not worth good programs."""
    from producers.workloads.presets import find_preset, quick_compilation

    return quick_compilation() if find_preset(preset).made_up else contextlib.nullcontext()


def _refuse_lockstep_on_ray(studies: "list[StudyPlan]") -> None:
    """Raises UsageError when a study is to be searched in lockstep by a cluster's workers."""
    from dbtool.errors import UsageError

    if any(study.search is not None for study in studies):
        raise UsageError(
            "a search in lockstep trains the trials of a study together, in one process; "
            "leave out --on ray, or search with --search fixed"
        )


def _share(part: str, on: option.Place | None) -> "Slice":
    """The slice of the sweep to train.

    Raises:
        UsageError: when it is no slice, or clashes with Ray.
    """
    from dbtool.errors import UsageError
    from producers.sweep.slices import Slice

    share = Slice.parse(part)
    if on is not None:
        raise UsageError(
            "--slice shares a sweep between the tasks of a job array, and --on ray shares it "
            "between a cluster's workers; give one of them"
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
