"""Load workloads of the user's own: from a file, and from what is installed.

They join the registries under names that nobody has, and carry the digest of the code that defines
them, so that a sweep never goes on with other code than it began with.
"""

import functools
import hashlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import msgspec

from dbtool.core.checks import parse_json
from dbtool.core.contract import RISING_NAMES, SPLITS, metric_columns
from dbtool.core.errors import DbtoolError, UsageError, unknown
from dbtool.core.files import read_small
from dbtool.core.footer import check_names
from dbtool.core.own_code import OWN_PATHS, blaming_own_code
from producers.datasets.forms import ArrayForm, ImageForm, TextForm
from producers.datasets.registry import DATASETS, DatasetDefinition
from producers.models.registry import FULLY_CONNECTED, MODELS, ModelDefinition
from producers.training.optimizers import LEARNING_RATE, OPTIMIZERS, OptimizerDefinition
from producers.training.schedules import SCHEDULES, ScheduleDefinition
from producers.workloads.batch_schedule import refuse_batch_schedule
from producers.workloads.definition import (
    BATCH_SIZE_STUDY,
    EvaluationRule,
    Origin,
    StepBudget,
    Workload,
    recorded_workload,
)
from producers.workloads.registry import WORKLOADS

T = TypeVar("T", Workload, ModelDefinition, OptimizerDefinition, ScheduleDefinition)

ENTRY_POINTS = "dbtool.workloads"
"""The group of entry points whose modules are loaded wherever they are installed."""


@dataclass(frozen=True)
class OwnFile:
    """A file as it was read; workers on other machines load the same."""

    path: Path
    source: bytes

    @property
    def origin(self) -> Origin:
        """Its name and digest."""
        return Origin(self.path.name, hashlib.sha256(self.source).hexdigest())


_TYPES = {
    "form": (ImageForm, TextForm, ArrayForm),
    "budget": (StepBudget,),
    "evaluation": (EvaluationRule,),
    "batch_schedule": (tuple,),
}
LOADED: dict[Origin, OwnFile | None] = {}
"""The code that was loaded, with its file; None of what is installed."""


@functools.cache
def _registries() -> dict[str, dict[str, Any]]:
    """Return what files add to, by kind."""
    # Objectives need JAX, which lists of workloads do not.
    from producers.training.objectives import OBJECTIVES

    return {
        "model": MODELS,
        "optimizer": OPTIMIZERS,
        "learning-rate schedule": SCHEDULES,
        "objective": OBJECTIVES,
        "data set": DATASETS,
        "workload": WORKLOADS,
    }


@functools.cache
def _known() -> dict[str, dict[str, Any]]:
    """Return what this package has of each kind; called before anything is added."""
    return {kind: dict(registry) for kind, registry in _registries().items()}


def load_own(path: Path | None = None) -> list[Workload]:
    """Register what installed modules define and what a file does; once, if called again.

    Returns:
        The file's workloads.

    Raises:
        UsageError: the file cannot be read, defines what there is already, or something that is not
            whole.
        DbtoolError: its code fails, or that of an installed module.
    """
    _load_installed()
    if path is None:
        return []
    try:
        source = read_small(path)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    return load_file(OwnFile(path, source))


def load_file(file: OwnFile) -> list[Workload]:
    """Register what a file that was read defines, as `load_own`."""
    origin = file.origin
    if origin not in LOADED:
        module = ModuleType(f"dbtool_own_{origin.sha256[:16]}")
        module.__file__ = str(file.path)
        # Dataclasses look their module up.
        sys.modules[module.__name__] = module
        OWN_PATHS.add(str(file.path))
        with blaming_own_code(str(file.path)):
            code = compile(file.source, str(file.path), "exec", dont_inherit=True)
            exec(code, vars(module))  # noqa: S102 (the user's own, as `python FILE` would)
            _register(module, origin)
        LOADED[origin] = file
    return [workload for workload in WORKLOADS.values() if workload.origin == origin]


@functools.cache
def _load_installed() -> None:
    for entry in importlib.metadata.entry_points(group=ENTRY_POINTS):
        if entry.dist is None:
            continue
        name, version = entry.dist.name, entry.dist.version
        try:
            with blaming_own_code(f"{name} {version}"):
                _load_entry(entry.module, name, version)
        except DbtoolError as error:
            raise DbtoolError(f"{error}; `pip uninstall {name}` goes on without it") from error


def _load_entry(module: str, name: str, version: str) -> None:
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"it has no module {module}")
    origin = Origin(name, hashlib.sha256(Path(spec.origin).read_bytes()).hexdigest(), version)
    if origin not in LOADED:
        OWN_PATHS.add(spec.origin)
        _register(importlib.import_module(module), origin)
        LOADED[origin] = None


def _register(module: ModuleType, origin: Origin) -> None:
    """Add what a module defines to the registries: all of it or, where it is wrong, nothing."""
    workloads = {
        name: replace(
            workload,
            origin=origin,
            # The default is the study that this package began with.
            paper=None if workload.paper == BATCH_SIZE_STUDY else workload.paper,
        )
        for name, workload in _listed(module, "WORKLOADS", Workload).items()
    }
    defined: dict[str, dict[str, Any]] = {
        "model": _listed(module, "MODELS", ModelDefinition),
        "optimizer": _listed(module, "OPTIMIZERS", OptimizerDefinition),
        "learning-rate schedule": _listed(module, "SCHEDULES", ScheduleDefinition),
        "objective": dict(getattr(module, "OBJECTIVES", {})),
        "data set": {
            name: DatasetDefinition(name, load)
            for name, load in dict(getattr(module, "DATASETS", {})).items()
        },
        "workload": workloads,
    }
    _check_functions(defined)
    if not workloads:
        raise UsageError("it lists no WORKLOADS, such as WORKLOADS = [Workload(...)]")
    for kind, registry in _registries().items():
        for name in defined[kind]:
            if name in registry or (kind == "model" and FULLY_CONNECTED.fullmatch(name)):
                raise UsageError(f"the {kind} {name} is known already; give yours another name")
    for workload in workloads.values():
        _check_types(workload)
        _check_names(workload, {kind: _known()[kind] | defined[kind] for kind in defined})
        _check_settings(workload)
    for kind, registry in _registries().items():
        registry.update(defined[kind])


def _check_functions(defined: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse data sets and objectives that could not be called."""
    for name, dataset in defined["data set"].items():
        if not dataset.is_own:
            raise UsageError(f"DATASETS gives {name} no function, but {dataset.load!r:.60}")
    from producers.training.objectives import Objective

    for name, objective in defined["objective"].items():
        if not isinstance(objective, Objective):
            raise UsageError(
                f"OBJECTIVES gives {name} {objective!r:.60}, and should give it an object with "
                "metric_names, loss, totals and metrics"
            )


def _listed(module: ModuleType, name: str, kind: type[T]) -> dict[str, T]:
    """Return what a module lists under a name, by the names in it."""
    found: dict[str, T] = {}
    listed = getattr(module, name, [])
    if not isinstance(listed, list | tuple):
        raise UsageError(f"{name} is {listed!r:.60}, and should be a list of {kind.__name__}s")
    for each in listed:
        if not isinstance(each, kind):
            raise UsageError(f"{name} holds {each!r:.60}, and should hold {kind.__name__}s")
        if each.name in found:
            raise UsageError(f"{name} has {each.name} twice; leave one of them out")
        found[each.name] = each
    return found


def _check_types(workload: Workload) -> None:
    for name, kinds in _TYPES.items():
        if not isinstance(getattr(workload, name), kinds):
            wanted = " or ".join(kind.__name__ for kind in kinds)
            raise UsageError(f"the {name} of {workload.name} is not of type {wanted}")


def _check_names(workload: Workload, known: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse names that mean nothing.

    Known is what is in this package or defined beside the workload, whose origin then says where
    all of it is.
    """
    parts = {
        "optimizer": workload.optimizer,
        "data set": workload.source,
        "learning-rate schedule": workload.schedule,
        "objective": workload.objective or workload.form.objective,
    }
    if not FULLY_CONNECTED.fullmatch(workload.model):
        parts["model"] = workload.model
    for kind, name in parts.items():
        if name not in known[kind]:
            raise unknown(kind, name, known[kind], "dbtool produce --list")
    own = known["objective"][parts["objective"]].metric_names
    metrics = [*metric_columns(), *(f"{split}_{name}" for name in own for split in SPLITS)]
    if workload.metric not in metrics:
        raise unknown("metric", workload.metric, metrics, "dbtool workloads --catalog")
    needed = {
        LEARNING_RATE,
        *known["optimizer"][workload.optimizer].metaparameters,
        *known["learning-rate schedule"][workload.schedule].metaparameters,
    }
    searched = {name for name, _ in workload.search_space}
    if searched - {"label_smoothing"} != needed:
        raise UsageError(
            f"{workload.name} searches {', '.join(sorted(searched)) or 'nothing'}, and its "
            f"optimizer and schedule need {', '.join(sorted(needed))}; give search_space these, a "
            "Range from a value to itself for one that is not searched"
        )


def _check_settings(workload: Workload) -> None:
    """Refuse what could not be trained or recorded."""
    data = workload.dataset, workload.source
    if any(each.dataset == data[0] and each.source != data[1] for each in WORKLOADS.values()):
        raise UsageError(f"{workload.name} gives other data the name {data[0]}; give it its own")
    recorded = recorded_workload(workload)
    if workload.maximize != recorded.maximize:
        raise UsageError(
            f"{workload.name} needs maximize={recorded.maximize} by its metric {workload.metric}: "
            f"{RISING_NAMES}"
        )
    read = parse_json(msgspec.json.encode(recorded), type(recorded))
    if read != recorded:
        raise UsageError(f"{workload.name} holds a number that is not finite")
    check_names(read)
    try:
        hash(workload)
    except TypeError as error:
        raise UsageError(f"{workload.name} holds a list or dictionary; write tuples") from error
    refuse_batch_schedule(workload)
    if not workload.batch_sizes:
        raise UsageError(f"{workload.name} has no batch_sizes; name one or more")
