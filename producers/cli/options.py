"""The options of `dbtool produce`: its own, and those that the sweeps' configuration describes."""

import inspect
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_origin, get_type_hints

import msgspec
import typer

from dbtool.cli.options import Format, trainable_workloads
from dbtool.core.checks import InvalidError, convert, read_toml
from dbtool.core.errors import UsageError
from dbtool.core.files import expanded
from dbtool.core.manifest import check_name
from producers.configuration import Option, Plan, Sweep, SweepOptions

if TYPE_CHECKING:
    from producers.workloads.definition import Workload

Values = Mapping[str, Any]
T = TypeVar("T", bound=msgspec.Struct)
# Types of lists with commas: how each of a list is read, what they are, and an example.
_NUMBERS: dict[Any, tuple[Callable[[str], float], str, str]] = {
    tuple[int, ...] | None: (int, "whole numbers", "1,64,4096"),
    tuple[float, ...] | None: (float, "numbers", "0.5,1,2"),
}


def signature() -> inspect.Signature:
    """Return the parameters of the command, by which Typer knows its options."""
    workloads = typer.Argument(
        metavar="WORKLOAD",
        help="Workloads, or patterns in quotes such as 'mnist/fc_*'.",
        autocompletion=trainable_workloads,
    )
    plan = (
        "Read what to train from a TOML file instead: release, seed, from, replace, and tables "
        "[[sweep]] with workloads, batch_sizes, trials, steps, search and their like."
    )
    preset = (
        "How much to train. `smoke`: a few steps on made-up data. `laptop`: a fifth of the trials "
        "and steps, at small batch sizes. `paper`: all of the published study. Other options "
        "override it."
    )
    out = "The release folder to write. A sweep that was stopped goes on in it."
    watch = (
        "Show the progress of each study: its trials, its best value so far, and the fewest steps "
        "to the goal."
    )
    profile = "Write a trace of a few calls of the devices into DIR, which Perfetto and XProf show."
    emit = (
        "Print a job that trains the sweep in slices of a block each, and train nothing: the "
        "script of a Slurm job array, the manifest of a Kubernetes Job, or a SkyPilot task."
    )
    check = (
        "Train one step of each workload in a Python file of yours, and print what is odd about "
        "it; write nothing."
    )
    listing = "Print the workloads, their goals and batch sizes."
    listed = typer.Option("--format", case_sensitive=False, help="How --list prints its rows.")
    return inspect.Signature(
        [
            _parameter("workload", list[str] | None, workloads),
            _option("all", bool, "Train every workload."),
            _option("plan", Path | None, plan, "FILE"),
            _option("preset", str | None, preset, "smoke|laptop|paper", autocompletion=_presets),
            *_described(Sweep),
            *_described(Plan),
            _option("out", Path, out, "DIR", Path("runs")),
            *_described(SweepOptions),
            _option("watch", bool, watch),
            _option("profile", Path | None, profile, "DIR"),
            _option("emit", Literal["slurm", "kubernetes", "skypilot"] | None, emit),
            _option("check", Path | None, check, "FILE"),
            _option("dry_run", bool, "Print what would run and train nothing."),
            _option("list", bool, listing),
            _parameter("output_format", Format, listed, Format.TABLE),
        ]
    )


def sweep_options(values: Values) -> SweepOptions:
    """How to train, from the command line."""
    options = _checked(_given(values, SweepOptions), SweepOptions)
    of_branches = ("branch_from", "branch_factors", "branch_rates", "branch_window")
    if options.branch_at is None and any(getattr(options, name) for name in of_branches):
        raise UsageError("name the steps at which trials branch with --branch-at, such as 500,2000")
    if values["emit"]:
        others = ("slice", "on", "copy_to", "distributed", "watch", "profile", "dry_run", "list")
        for name in others:
            if values[name]:
                raise UsageError(
                    f"--emit {values['emit']} prints a job whose tasks train the slices; "
                    f"leave out {_flag(name)}, or --emit"
                )
    if options.part is not None and options.on is not None:
        raise UsageError(
            "--slice shares a sweep between the tasks of a job array, and --on ray shares it "
            "between a cluster's workers; give one of them"
        )
    if values["profile"] and options.on is not None:
        raise UsageError(
            "--profile traces what this process trains, not what a cluster's workers do; leave out "
            "one of --profile and --on"
        )
    if values["watch"] and options.on is not None:
        raise UsageError(
            "--watch shows what this process trains, not what a cluster's workers do; leave it "
            f"out, and ask what they have written with `dbtool steps --db {values['out']}`"
        )
    return options


def plan_of(values: Values, release: str) -> Plan:
    """Return what to train, from the command line or the plan file that it names.

    Measurements belong to `release` unless the options or the plan name one.
    """
    path, patterns = values["plan"], values["workload"] or []
    of_plan, of_sweep = _given(values, Plan), _given(values, Sweep)
    if path is not None:
        others = [name for name in ("all", "preset") if values[name]]
        given = [*patterns, *map(_flag, [*others, *of_sweep, *of_plan])]
        if given:
            raise UsageError(
                f"--plan trains what {path} says and nothing else; leave out {given[0]}, or --plan"
            )
        return read_toml(path, Plan, "plan")
    if values["all"] and patterns:
        raise UsageError(f"--all trains every workload; leave out {' '.join(patterns)} or --all")
    if not (patterns or values["all"] or values["from_"]):
        raise UsageError(
            "name what to train, such as `dbtool produce mnist/fc_64_64_64/sgd`, or all with "
            "--all; `dbtool produce --list` lists the workloads"
        )

    check_name(of_plan.get("release", release))
    of_sweep["workloads"] = [workload.name for workload in chosen_workloads(values)]
    sweep = _checked(of_sweep, Sweep)
    return _checked({"release": release, **of_plan, "sweep": (sweep,)}, Plan)


def plan_to_check(values: Values) -> Plan:
    """Return one step of each workload of the file that --check names."""
    modes = ("all", "plan", "preset", "slice", "on", "distributed", "watch", "emit", "dry_run")
    others = [name for name in (*modes, "list") if values[name]]
    given = [*others, *_given(values, Sweep), *_given(values, Plan)]
    if given:
        raise UsageError(
            f"--check trains one step of each workload in {values['check']} and writes nothing; "
            f"leave out {_flag(given[0])}, or --check"
        )
    names = [workload.name for workload in chosen_workloads({**values, "from_": values["check"]})]
    sweep = _checked({"workloads": names, "trials": 1, "steps": 1}, Sweep)
    return Plan(release="check", sweep=(sweep,))


def words_of(values: Values) -> list[str]:
    """Return the words of the command that say what to train and how.

    Options that have their default are left out; those of environment variables are not, but for
    the folder of data sets where a job runs elsewhere than on nodes that share this file system.
    """
    from producers.datasets.folders import DATASETS_VARIABLE

    here = os.environ.get(DATASETS_VARIABLE) if values["emit"] != "slurm" else None
    values = {**values, "datasets": None} if str(values["datasets"]) == here else values
    words = list(values["workload"] or [])
    for name, parameter in signature().parameters.items():
        value = values[name]
        # Where to write and what a task has are the job's.
        own = name not in {"workload", "out", "emit", "cpus_per_task", "gpus_per_task"}
        if own and value is not None and value is not False and value != parameter.default:
            for one in value if isinstance(value, list) else [value]:
                words += [_flag(name)] if one is True else [_flag(name), str(one)]
    return words


def chosen_workloads(values: Values) -> "list[Workload]":
    """Return the workloads that the words name; without any those of an own file, or all."""
    from producers.workloads.own import load_own
    from producers.workloads.registry import find_workloads

    for word in values["workload"] or ():
        if word.endswith(".py"):
            raise UsageError(f"{word!r} is no workload: give a file of workloads as --from {word}")
    path = values["from_"]
    own = load_own(None if path is None else expanded(path))
    named = values["workload"]
    return own if own and not (named or values["all"]) else find_workloads(named or ["*"])


def _presets() -> list[tuple[str, str]]:
    """Presets of how much to train, each with what it is for, as a shell offers them."""
    from producers.workloads.presets import PRESETS

    return [(preset.name, preset.about) for preset in PRESETS.values()]


def _described(kind: type[msgspec.Struct]) -> Iterator[inspect.Parameter]:
    """Yield the parameters of the fields of a configuration that are options."""
    types = get_type_hints(kind)
    for field in msgspec.structs.fields(kind):
        option = getattr(field.type, "__metadata__", (None,))[-1]
        if isinstance(option, Option):
            in_words = types[field.name]
            if get_origin(in_words) is tuple:
                in_words = list[str]
            elif in_words in _NUMBERS:
                # Numbers come with commas between them, texts one by one.
                in_words = str
            default = None if field.required else field.default or None
            more = {"metavar": option.metavar, "envvar": option.envvar, "default": default}
            yield _option(field.name, in_words | None, option.help, **more)


def _option(
    name: str, kind: Any, text: str, metavar: str | None = None, default: Any = None, **more: Any
) -> inspect.Parameter:
    option = typer.Option(_flag(name), help=text, metavar=metavar, **more)
    return _parameter(name, kind, option, default)


def _parameter(name: str, kind: Any, option: Any, default: Any = None) -> inspect.Parameter:
    by_name = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, by_name, default=default, annotation=Annotated[kind, option])


def _given(values: Values, kind: type[msgspec.Struct]) -> dict[str, Any]:
    found = {name: values[name] for name in kind.__struct_fields__ if name in values}
    return {
        # Python needs the stroke of from_, a plan does not.
        name.rstrip("_"): value
        for name, value in found.items()
        if not (value is None or value is False or value == [])
    }


def _checked(values: dict[str, Any], kind: type[T]) -> T:
    """Return the configuration of these values; what is wrong is named as an option."""
    types = get_type_hints(kind)
    lists = [name for name in values if types.get(name) in _NUMBERS]
    numbers = {name: _numbers(name, values[name], *_NUMBERS[types[name]]) for name in lists}
    try:
        return convert(values | numbers, kind)
    except InvalidError as error:
        # Other names of options are words as well.
        names = rf"^({'|'.join(values)})\b(\.\d+)?|\b(budget|search|feasible|replace)\b"
        sentence = re.sub(names, lambda name: _flag(name[1] or name[0]), str(error))
        raise UsageError(f"{sentence} (see `dbtool produce --help`)") from error


def _flag(name: str) -> str:
    return f"--{name.rstrip('_').replace('_', '-')}"


def _numbers(
    name: str, text: str, read: Callable[[str], float], what: str, example: str
) -> list[float]:
    try:
        return list(dict.fromkeys(map(read, text.split(","))))
    except ValueError as error:
        raise UsageError(
            f"{name.replace('_', ' ')} {text!r} are not {what} with commas between them, "
            f"such as {_flag(name)} {example}"
        ) from error
