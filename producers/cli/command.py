"""The command that trains workloads and writes their measurements into a release folder."""

import contextlib
import importlib.util
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import typer

from dbtool.cli.messages import tell
from dbtool.core.errors import UsageError, counted
from dbtool.core.files import url_of
from dbtool.core.manifest import is_release, releases_in
from dbtool.core.release import telling_of_change
from dbtool.core.resources import libraries_of
from dbtool.core.walk import is_file
from producers.cli.options import (
    Values,
    chosen_workloads,
    plan_of,
    plan_to_check,
    signature,
    sweep_options,
    words_of,
)

if TYPE_CHECKING:
    from dbtool.cli.options import Format
    from producers.configuration import SweepOptions
    from producers.plan import StudyPlan
    from producers.workloads.definition import Workload
    from producers.workloads.presets import Preset


def command(**values: Any) -> None:
    """Train workloads and write their measurements into a release folder.

    Each batch size is a study, whose trials have different metaparameters. A command that was
    stopped goes on where it stopped when it is given again. Trials that have ended can be queried
    while others train, as with `dbtool steps WORKLOAD --db DIR`.

    Example: dbtool produce mnist/fc_64_64_64/sgd --batch-sizes 64 --trials 100 --out runs
    """
    if values["check"]:
        _check(values)
        return
    if values["list"]:
        _list_workloads(chosen_workloads(values), values["output_format"])
        return
    if values["output_format"] != "table":
        raise UsageError("--format says how --list prints its rows: add --list, or leave it out")
    from dbtool.core.own_code import blaming_own_code
    from producers.datasets.folders import given_folder
    from producers.plan import planned_studies
    from producers.workloads.presets import find_preset

    _check_out(values["out"])
    options, preset = sweep_options(values), find_preset(values["preset"])
    # A job may run on machines whose folders are not here.
    if values["emit"] is None:
        given_folder(options.datasets)
    plan = plan_of(values, preset.release)
    # Libraries that the user's own code lacks do not come with the extra.
    with libraries_of("train", "training needs"), blaming_own_code():
        _require_jax()
        with planned_studies(
            plan,
            preset=preset,
            dtype=options.dtype,
            vocabulary=options.vocabulary,
            path=values["plan"],
        ) as planned:
            studies = planned
            _refuse_options(studies, options, values["emit"])
            if options.branch_at is not None:
                from producers.branches import branched_studies

                given = {"--from": values["from_"], "--release": values["release"]}
                words = (f" {flag} {quote(str(each))}" for flag, each in given.items() if each)
                studies = branched_studies(studies, values["out"], options, "".join(words))
            if values["emit"] is None:
                _train(studies, values, options, preset)
                return
            from producers.sweep.job_files import FORMATS, job_of

            job = job_of(studies, words_of(values), values["out"], options)
            typer.echo(FORMATS[values["emit"]](job), nl=False)
            tell(f"{job.counted} of the sweep; the job's first lines say how to submit it")


command.__signature__ = signature()  # type: ignore[attr-defined]  # Typer reads it


def _require_jax() -> None:
    """Refuse to go on without what training needs, before anything is read or written."""
    if importlib.util.find_spec("jax") is None:
        raise ModuleNotFoundError(name="jax")


def _check(values: Values) -> None:
    """Print what one step of the workloads of a file shows."""
    with libraries_of("train", "training needs"):
        _require_jax()
        from producers.check import tried
        from producers.devices import configure_devices
        from producers.plan import planned_studies

        plan, options = plan_to_check(values), sweep_options(values)
        configure_devices()
        found = False
        with planned_studies(plan, dtype=options.dtype, vocabulary=options.vocabulary) as studies:
            for sentence, is_odd in tried(studies, options):
                typer.echo(sentence)
                found = found or is_odd
    if found:
        raise typer.Exit(1)


def _check_out(out: Path) -> None:
    """Refuse a folder that a sweep would not write a release into."""
    if url := url_of(out):
        raise UsageError(
            f"--out is {url}, and should be a folder of this machine; keep a copy at the URL of a "
            "bucket with --copy-to"
        )
    if is_file(out):
        raise UsageError(f"--out is {out}, which is a file: name a folder")
    if not is_release(out) and (held := releases_in(out)):
        raise UsageError(
            f"--out is {out}, a folder that holds {counted(len(held), 'release')}: name one in it, "
            f"such as --out {out / 'runs'}"
        )


def _refuse_options(studies: "list[StudyPlan]", options: "SweepOptions", emit: str | None) -> None:
    from producers.models.registry import MODELS, model_definition

    sliced = "--slice" if options.slice else f"--emit {emit}" if emit else None
    divided = sliced or ("--on ray" if options.on else None)
    if options.remat and not any(model_definition(each.workload.model).remat for each in studies):
        able = ", ".join(name for name, model in MODELS.items() if model.remat)
        raise UsageError(
            f"--remat has no effect on the models of these workloads, and has on {able}; leave it "
            "out, or choose other workloads"
        )
    if divided and any(study.search for study in studies):
        raise UsageError(
            "a search in lockstep trains the trials of a study together, in one process; "
            f"leave out {divided}, or search with --search fixed"
        )
    if divided and options.branch_at:
        raise UsageError(
            f"branches go on from trials that one process trains again; leave out {divided}"
        )
    if sliced and any(study.feasible_trials for study in studies):
        raise UsageError(
            "feasible, which some presets have, needs the results of all slices; train the slices "
            f"with --feasible 0 or a plan without it, then repeat the command without {sliced}"
        )


def _train(
    studies: "list[StudyPlan]", values: Values, options: "SweepOptions", preset: "Preset"
) -> None:
    """Train the studies, or print what that would take."""
    # These import JAX, which a wrong option need not wait for.
    import jax

    from producers.devices import configure_devices, join_hosts, keep_compiled
    from producers.sweep.data import with_own_data

    out = values["out"]
    configure_devices()
    if options.distributed:
        join_hosts()
    if values["dry_run"]:
        from producers.estimate import estimate

        for line in estimate(with_own_data(studies, out, options), out, options):
            typer.echo(line)
        return
    from producers.cli.interruption import interruptible, telling_of_warnings
    from producers.cli.progress import sweep_progress
    from producers.cli.speed import profiled
    from producers.sweep.copies import copied
    from producers.sweep.events import together
    from producers.sweep.run import run_sweep
    from producers.training.mesh import is_first
    from producers.workloads.presets import quick_compilation

    # Whoever has Ray train must not take a GPU from its workers.
    if not (preset.made_up or options.on):
        keep_compiled(jax.default_backend())
    # Whoever has Ray train does not start JAX.
    url = options.copy_to if options.on or is_first() else None
    with (
        # Trials of a few steps are not worth good programs.
        quick_compilation() if preset.made_up else contextlib.nullcontext(),
        telling_of_warnings(),
        interruptible(studies, out, options) as stop,
        copied(out, url, studies[0].release) as copying,
    ):
        # Once the copy is here, which they go on with; in place, for what an interruption tells.
        studies[:] = with_own_data(studies, out, options)
        with (
            telling_of_change(out, tell),
            sweep_progress(studies, out, options, watch=values["watch"]) as shown,
            profiled(values["profile"]) as traced,
        ):
            events = together(shown, copying, traced)
            if options.on == "ray":
                from producers.sweep.ray_sweep import run_on_ray

                run_on_ray(studies, out, options, events)
            else:
                run_sweep(studies, out, options, together(stop.events, events))


def _list_workloads(workloads: "list[Workload]", output_format: "Format") -> None:
    import pyarrow as pa

    from dbtool.cli.output import print_table

    rows = [
        {"workload": each.name, "goal": each.stated_goal, "batch_sizes": each.batch_sizes}
        for each in workloads
    ]
    print_table(pa.Table.from_pylist(rows), output_format)
