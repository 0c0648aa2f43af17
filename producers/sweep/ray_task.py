"""The task of a Ray worker: train one block of trials and return the finished shard.

The shard travels as bytes, so that the nodes of a cluster need no file system in common.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import dbtool
from dbtool.core.errors import DbtoolError
from dbtool.core.shards import write_shard
from producers.devices import configure_devices
from producers.workloads.own import LOADED, blaming_own_code, load_file, load_own

if TYPE_CHECKING:
    from producers.configuration import SweepOptions
    from producers.plan import StudyPlan
    from producers.sweep.session import StudySession
    from producers.workloads.definition import Origin
    from producers.workloads.own import OwnFile

_SAME_EVERYWHERE = ("jax", "jaxlib", "flax", "optax", "numpy", "pyarrow")


def versions() -> dict[str, str]:
    """Return what has to be the same in all processes of a sweep, by name."""
    found = {name: importlib.metadata.version(name) for name in _SAME_EVERYWHERE}
    return {"dbtool": dbtool.__version__, **found}


def train_block_of(
    study: StudyPlan,
    trial_ids: tuple[int, ...],
    options: SweepOptions,
    expected_versions: dict[str, str],
    file: OwnFile | None = None,
) -> tuple[bytes, int]:
    """Train a block of trials.

    Args:
        study: of the block.
        trial_ids: the block.
        options: of the sweep.
        expected_versions: of the libraries where the sweep was started.
        file: of the user's own, that defines the workload; None where there is none.

    Returns:
        The shard's file, and its rows.

    Raises:
        DbtoolError: when this node has other versions of the libraries or of the code that defines
            the workload, or training fails.
    """
    _refuse_other_versions(expected_versions)
    # XLA starts so many threads; has to be there before JAX looks for devices.
    os.environ["NPROC"] = str(options.cpus_per_task)
    # Ray limits the GPUs only where it gives some.
    if not options.gpus_per_task:
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
    configure_devices(options.cpus_per_task)
    with blaming_own_code():
        _load_origin(study.workload.origin, file)
        return _trained(study, trial_ids, options)


def _trained(
    study: StudyPlan, trial_ids: tuple[int, ...], options: SweepOptions
) -> tuple[bytes, int]:
    from producers.training.hosts import is_first

    session = _session_of(study, options)
    with tempfile.TemporaryDirectory(prefix="dbtool-") as folder:
        block = session.train(study.trials(trial_ids), lambda _: None)
        if not is_first():
            raise DbtoolError(
                f"the Ray node {platform.node()} trains as one of several hosts; "
                "start its workers without the settings of jax.distributed"
            )
        shard = write_shard(Path(folder), block.footer, block.tables)
        return (Path(folder) / shard.path).read_bytes(), shard.rows


def _session_of(study: StudyPlan, options: SweepOptions) -> StudySession:
    """Return what the blocks of a study share; kept, since a worker trains several of them."""
    from producers.sweep.session import StudySession

    if (study, options) not in _LAST_SESSION:
        # The data of the study before must not lie in memory beside those of the next.
        _LAST_SESSION.clear()
        _LAST_SESSION[study, options] = StudySession(study, options)
    return _LAST_SESSION[study, options]


_LAST_SESSION: dict[tuple[StudyPlan, SweepOptions], StudySession] = {}


def _load_origin(origin: Origin | None, file: OwnFile | None) -> None:
    """Load the code that defines a workload: what was sent, or what is installed here, too."""
    if file is None:
        load_own()
    else:
        load_file(file)
    if origin is not None and origin not in LOADED:
        raise DbtoolError(
            f"the Ray node {platform.node()} does not have {origin}, which defines the workload; "
            "install the same on every node"
        )


def _refuse_other_versions(expected: dict[str, str]) -> None:
    for name, version in versions().items():
        if version != expected[name]:
            raise DbtoolError(
                f"the Ray node {platform.node()} has {name} {version}, and the sweep was started "
                f"with {expected[name]}; install the same versions on every node"
            )
