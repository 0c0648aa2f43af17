"""The options of `dbtool produce`: its own, and those that the sweeps' configuration describes."""

import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import msgspec
import typer
from msgspec.inspect import (
    BoolType,
    FloatType,
    IntType,
    LiteralType,
    Metadata,
    NoneType,
    StrType,
    UnionType,
    VarTupleType,
)

from dbtool.cli.completion import presets, trainable_workloads
from dbtool.core.errors import UsageError
from dbtool.core.manifest import check_name
from dbtool.core.parsing import InvalidError, convert, read_toml
from producers.configuration import Option, Plan, Sweep, SweepOptions

if TYPE_CHECKING:
    from producers.workloads.definition import Workload

Values = Mapping[str, Any]
T = TypeVar("T", bound=msgspec.Struct)
_BEFORE: dict[str, Any] = {
    "workload": Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORKLOAD",
            help="Workloads, or patterns in quotes such as 'mnist/fc_*'.",
            autocompletion=trainable_workloads,
        ),
    ],
    "all": Annotated[bool, typer.Option("--all", help="Train every workload.")],
    "plan": Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Read what to train from a TOML file instead: release, seed, from, replace, and "
            "tables [[sweep]] with workloads, batch_sizes, trials, steps, search and their like.",
        ),
    ],
    "preset": Annotated[
        str | None,
        typer.Option(
            metavar="smoke|laptop|paper",
            help="How much to train: `smoke`, a few steps on made-up data; `laptop`, a fifth of "
            "the trials and steps at small batch sizes; `paper`, all of the published study. Other "
            "options override it.",
            autocompletion=presets,
        ),
    ],
}
_OUT = Annotated[
    Path,
    typer.Option(
        metavar="DIR", help="The release folder to write; what was stopped goes on in it."
    ),
]
_AFTER: dict[str, Any] = {
    "watch": Annotated[
        bool,
        typer.Option(
            "--watch",
            help="Show how each study comes along: its trials, its best value so far, and the "
            "fewest steps to the goal.",
        ),
    ],
    "emit": Annotated[
        Literal["slurm", "kubernetes", "skypilot"] | None,
        typer.Option(
            "--emit",
            help="Print a job that trains the slices of the sweep, a block each, and train "
            "nothing: the script of a Slurm job array, the manifest of a Kubernetes Job, or a "
            "SkyPilot task.",
        ),
    ],
    "dry_run": Annotated[
        bool, typer.Option("--dry-run", help="Print what would run and train nothing.")
    ],
    "list": Annotated[
        bool,
        typer.Option("--list", help="Print the workloads, their goals and published batch sizes."),
    ],
}


def signature() -> inspect.Signature:
    """The parameters of the command, by which Typer knows its options."""
    parameters = [_parameter(name, option) for name, option in _BEFORE.items()]
    for kind in (Sweep, Plan):
        parameters += [_parameter(name, option) for name, option, _ in _described(kind)]
    parameters.append(_parameter("out", _OUT, Path("runs")))
    parameters += [_parameter(*described) for described in _described(SweepOptions)]
    parameters += [_parameter(name, option) for name, option in _AFTER.items()]
    return inspect.Signature(parameters)


def sweep_options(values: Values) -> SweepOptions:
    """How to train, from the command line.

    Raises:
        UsageError: an option is wrong, or two clash.
    """
    options = _checked(_given(values, SweepOptions), SweepOptions)
    if values["emit"]:
        others = ("slice", "on", "distributed", "watch", "dry_run", "list")
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
    if values["watch"] and options.on is not None:
        raise UsageError(
            "--watch shows what this process trains, not what a cluster's workers do; leave it "
            f"out, and ask what they have written with `dbtool steps --db {values['out']}`"
        )
    return options


def plan_of(values: Values, release: str) -> Plan:
    """What to train, from the command line or the plan file that it names.

    Args:
        values: the command's parameters.
        release: the release that measurements belong to unless the options or the plan name one.

    Raises:
        UsageError: an option or the file is wrong, or two options clash.
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
    if "batch_sizes" in of_sweep:
        of_sweep["batch_sizes"] = _numbers(of_sweep["batch_sizes"])
    check_name(of_plan.get("release", release))
    of_sweep["workloads"] = [workload.name for workload in chosen_workloads(values)]
    sweep = _checked(of_sweep, Sweep)
    return _checked({"release": release, **of_plan, "sweep": (sweep,)}, Plan)


def words_of(values: Values) -> list[str]:
    """The words of the command that say what to train and how, but for --out.

    What was left out, or given as it is without, is left out; an option that an environment
    variable stands in for is given.
    """
    words = list(values["workload"] or [])
    words += ["--all"] * bool(values["all"])
    for name in ("plan", "preset"):
        if values[name] is not None:
            words += [_flag(name), str(values[name])]
    for kind in (Sweep, Plan, SweepOptions):
        for name, _, default in _described(kind):
            value, flag = values[name], _flag(name.rstrip("_"))
            # Those of a task are the job's.
            own = name not in {"cpus_per_task", "gpus_per_task"}
            if own and value is not None and value is not False and value != default:
                for one in value if isinstance(value, list) else [value]:
                    words += [flag] if one is True else [flag, str(one)]
    return words


def chosen_workloads(values: Values) -> "list[Workload]":
    """The workloads that the words name: without any those of the user's own file, or all.

    Raises:
        UsageError: one is unknown, or the file is wrong.
        DbtoolError: its code fails.
    """
    from producers.workloads.own import load_own
    from producers.workloads.registry import find_workloads

    path = values["from_"]
    own = load_own(None if path is None else Path(path).expanduser())
    named = values["workload"]
    return own if own and not (named or values["all"]) else find_workloads(named or ["*"])


def _parameter(name: str, option: Any, default: Any = None) -> inspect.Parameter:
    keyword_only = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, keyword_only, default=default, annotation=option)


def _described(kind: type[msgspec.Struct]) -> Iterator[tuple[str, Any, Any]]:
    """The fields of a configuration that are options: name, annotation for Typer, default."""
    for field in msgspec.structs.fields(kind):
        option = getattr(field.type, "__metadata__", (None,))[-1]
        if isinstance(option, Option):
            value = _without_none(msgspec.inspect.type_info(field.type))
            given = typer.Option(
                *filter(None, [option.flag]),
                help=option.help,
                metavar=option.metavar,
                envvar=option.envvar,
                show_default=bool(field.default),
            )
            yield field.name, Annotated[_python_type(value) | None, given], field.default or None


def _without_none(kind: Any) -> Any:
    if isinstance(kind, Metadata):
        return _without_none(kind.type)
    if isinstance(kind, UnionType):
        return _without_none(next(each for each in kind.types if not isinstance(each, NoneType)))
    return kind


def _python_type(kind: Any) -> Any:
    if isinstance(kind, LiteralType):
        return Literal[kind.values]
    if isinstance(kind, VarTupleType):
        # Whole numbers come with commas between them, texts one by one.
        return str if isinstance(_without_none(kind.item_type), IntType) else list[str]
    simple: dict[Any, Any] = {IntType: int, FloatType: float, StrType: str, BoolType: bool}
    return simple.get(type(kind)) or kind.cls


def _given(values: Values, kind: type[msgspec.Struct]) -> dict[str, Any]:
    # Python needs the stroke of from_, a plan does not.
    found = {name.rstrip("_"): values[name] for name, _, _ in _described(kind)}
    return {
        name: value
        for name, value in found.items()
        if not (value is None or value is False or value == [])
    }


def _checked(values: dict[str, Any], kind: type[T]) -> T:
    """The configuration of these values; what is wrong is named as an option."""
    try:
        return convert(values, kind)
    except InvalidError as error:
        # Other names of options are words as well.
        names = rf"^({'|'.join(values)})\b(\.\d+)?|\b(budget|search|feasible|replace)\b"
        sentence = re.sub(names, lambda name: _flag(name[1] or name[0]), str(error))
        raise UsageError(f"{sentence} (see `dbtool produce --help`)") from error


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _numbers(text: str) -> list[int]:
    try:
        return list(dict.fromkeys(int(word) for word in text.split(",")))
    except ValueError as error:
        raise UsageError(
            f"batch sizes {text!r} are not whole numbers with commas between them, "
            "such as --batch-sizes 1,64,4096"
        ) from error
