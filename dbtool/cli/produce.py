"""The command that trains workloads and writes their measurements into a release folder."""

import contextlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dbtool.cli.messages import goal_words
from dbtool.cli.produce_options import (
    Values,
    chosen_workloads,
    plan_of,
    signature,
    sweep_options,
)
from dbtool.core.errors import UsageError, counted
from dbtool.core.manifest import is_release, releases_in
from dbtool.core.resources import libraries_of
from dbtool.core.walk import is_file
from dbtool.store.sources import as_url

if TYPE_CHECKING:
    from dbtool.cli.interruption import Stop
    from producers.configuration import SweepOptions
    from producers.plan import StudyPlan
    from producers.workloads.definition import Workload


def command(**values: Any) -> None:
    """Train workloads and write their measurements into a release folder.

    At each batch size so many trials are trained, each with other metaparameters. What was stopped
    goes on where it stopped when the same command is given again. The trials that have ended can be
    asked meanwhile, as with `dbtool steps WORKLOAD --db DIR`.

    Example: dbtool produce mnist/fc_64_64_64/sgd --batch-sizes 64 --trials 100 --out runs
    """
    if values["list"]:
        _list_workloads(chosen_workloads(values))
        return
    from producers.datasets.folders import given_folder
    from producers.plan import planned_studies
    from producers.workloads.own import blaming_own_code
    from producers.workloads.presets import find_preset, quick_compilation

    _check_out(values["out"])
    options, preset = sweep_options(values), find_preset(values["preset"])
    if not (values["dry_run"] or values["emit"]):
        given_folder(options.datasets)
    plan = plan_of(values, preset.release)
    with (
        _training_libraries(),
        # Of libraries, those of the user's own code are not brought by an extra.
        blaming_own_code(),
        planned_studies(
            plan,
            preset=preset,
            dtype=options.dtype,
            vocabulary=options.vocabulary,
            path=values["plan"],
        ) as studies,
    ):
        _refuse_dividing(studies, options, values["emit"])
        if values["emit"]:
            _emit(studies, values, options)
            return
        # These import JAX, which a wrong option need not wait for.
        from producers.devices import configure_devices, join_hosts

        configure_devices()
        if options.distributed:
            join_hosts()
        if values["dry_run"]:
            from producers.estimate import estimate

            for line in estimate(studies, values["out"], options):
                typer.echo(line)
            return
        # Trials of a few steps are not worth good programs.
        quickly = quick_compilation() if preset.made_up else contextlib.nullcontext()
        from dbtool.cli.interruption import interruptible

        with quickly, interruptible(studies, values["out"], options) as stop:
            _train(studies, values, options, stop)


command.__signature__ = signature()  # type: ignore[attr-defined]  # Typer reads it


def _check_out(out: Path) -> None:
    """Refuses a folder that a sweep would not write a release into.

    Raises:
        UsageError: it is a URL, a file, or a folder of releases.
    """
    if as_url(out):
        raise UsageError(f"--out is {as_url(out)}, and should be a folder of this machine")
    if is_file(out):
        raise UsageError(f"--out is {out}, which is a file: name a folder")
    if not is_release(out) and (held := releases_in(out)):
        raise UsageError(
            f"--out is {out}, a folder that holds {counted(len(held), 'release')}: name one in it, "
            f"such as --out {out / 'runs'}"
        )


def _refuse_dividing(studies: "list[StudyPlan]", options: "SweepOptions", emit: str | None) -> None:
    sliced = "--slice" if options.slice else f"--emit {emit}" if emit else None
    divided = sliced or ("--on ray" if options.on else None)
    if divided and any(study.search for study in studies):
        raise UsageError(
            "a search in lockstep trains the trials of a study together, in one process; "
            f"leave out {divided}, or search with --search fixed"
        )
    if sliced and any(study.feasible_trials for study in studies):
        raise UsageError(
            "feasible, which some presets have, needs the results of all slices; train the slices "
            f"with --feasible 0 or a plan without it, then repeat the command without {sliced}"
        )


def _emit(studies: "list[StudyPlan]", values: Values, options: "SweepOptions") -> None:
    from dbtool.cli.messages import tell
    from dbtool.cli.produce_options import words_of
    from producers.sweep.job_files import FORMATS, job_of

    job = job_of(studies, words_of(values), values["out"], options)
    typer.echo(FORMATS[values["emit"]](job), nl=False)
    tell(f"{job.counted} of the sweep; the job's first lines say how to submit it")


def _train(
    studies: "list[StudyPlan]", values: Values, options: "SweepOptions", stop: "Stop"
) -> None:
    from dbtool.cli.messages import telling_unpublished
    from dbtool.cli.progress import sweep_progress
    from producers.sweep.run import run_sweep

    out = values["out"]
    shown = sweep_progress(studies, out, options, watch=values["watch"])
    with telling_unpublished(out), shown as events:
        if options.on == "ray":
            from producers.sweep.ray_run import run_on_ray

            run_on_ray(studies, out, options, events)
        else:
            run_sweep(studies, out, options, stop.heeded(events))


def _list_workloads(workloads: "list[Workload]") -> None:
    width = max(len(workload.name) for workload in workloads)
    for workload in workloads:
        sizes = ",".join(str(size) for size in workload.batch_sizes)
        typer.echo(f"{workload.name:<{width}}  {goal_words(workload)}  batch sizes {sizes}")


@contextlib.contextmanager
def _training_libraries() -> Iterator[None]:
    """Tells how to install the libraries that training needs, where one is missing.

    Raises:
        DbtoolError: it is.
    """
    with libraries_of("train", "training needs"):
        # Before anything is read or written.
        _require("jax")
        yield


def _require(module: str) -> None:
    if importlib.util.find_spec(module) is None:
        raise ModuleNotFoundError(name=module)
