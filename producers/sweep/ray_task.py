"""What a Ray worker does: it trains one block of trials and returns the finished shard.

The shard travels as bytes, so that the nodes of a cluster need no file system in common.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import dbtool
from dbtool.errors import DbtoolError

if TYPE_CHECKING:
    from producers.plan import StudyPlan
    from producers.sweep.session import StudySession
    from producers.sweep.tasks import SweepOptions

_SAME_EVERYWHERE = ("jax", "jaxlib", "flax", "optax", "numpy", "pyarrow")


@dataclass(frozen=True)
class Job:
    """A block of trials, and what its worker needs.

    Attributes:
        study: the study of the block.
        trial_ids: the block.
        options: of the sweep.
        cpus: cores that the worker may use.
        gpus: GPUs that the worker may use.
        versions: of the libraries where the sweep was started.
    """

    study: StudyPlan
    trial_ids: tuple[int, ...]
    options: SweepOptions
    cpus: int
    gpus: int
    versions: dict[str, str]


@dataclass(frozen=True)
class FinishedShard:
    """A shard on its way to the process that started the sweep: its file and number of rows."""

    name: str
    content: bytes
    rows: int


def versions() -> dict[str, str]:
    """What has to be the same in all processes of a sweep, by name."""
    found = {name: importlib.metadata.version(name) for name in _SAME_EVERYWHERE}
    return {"dbtool": dbtool.__version__, **found}


def train_block_of(job: Job) -> FinishedShard:
    """Trains a block.

    Raises:
        DbtoolError: when this node has other versions of the libraries, or training fails.
    """
    _refuse_other_versions(job.versions)
    _limit_devices(job)
    session = _LAST_STUDY.session(job.study, job.options)
    with tempfile.TemporaryDirectory(prefix="dbtool-") as folder:
        block = session.train(job.trial_ids, Path(folder), lambda _: None)
        if block.shard is None:
            raise DbtoolError(
                f"the Ray node {platform.node()} trains as one of several hosts; "
                "start its workers without the settings of jax.distributed"
            )
        return FinishedShard(block.shard.name, block.shard.read_bytes(), block.rows)


class _LastStudy:
    """Keeps what the blocks of a study share, since a worker trains one block after another."""

    def __init__(self) -> None:
        self._key: tuple[StudyPlan, SweepOptions] | None = None
        self._session: StudySession | None = None

    def session(self, study: StudyPlan, options: SweepOptions) -> StudySession:
        from producers.sweep.session import StudySession

        if self._session is None or self._key != (study, options):
            # The data of the study before must not lie in memory beside those of the next.
            self._session = None
            self._session = StudySession(study, options)
            self._key = (study, options)
        return self._session


_LAST_STUDY = _LastStudy()


def _refuse_other_versions(expected: dict[str, str]) -> None:
    for name, version in versions().items():
        if version != expected[name]:
            raise DbtoolError(
                f"the Ray node {platform.node()} has {name} {version}, and the sweep was started "
                f"with {expected[name]}; install the same versions on every node"
            )


def _limit_devices(job: Job) -> None:
    """Keeps JAX to the cores and GPUs of the task; Ray limits the GPUs only where it gives some."""
    # XLA starts so many threads; has to be there before JAX looks for devices.
    os.environ["NPROC"] = str(job.cpus)
    if not job.gpus:
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax

    try:
        jax.config.update("jax_num_cpu_devices", job.cpus)
    except RuntimeError:
        # An earlier task of this worker, which had the same cores, set it.
        return
