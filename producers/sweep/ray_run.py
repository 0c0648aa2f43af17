"""Runs a sweep on a Ray cluster: its workers train blocks, this process writes their shards."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dbtool.errors import DbtoolError
from producers.shards import receive_shard
from producers.sweep.ray_task import Job, train_block_of, versions
from producers.sweep.run import whole_sweep
from producers.sweep.tasks import next_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from producers.plan import StudyPlan
    from producers.sweep.ray_task import FinishedShard
    from producers.sweep.run import SweepEvents
    from producers.sweep.tasks import SweepOptions

# How often a block is trained anew when its worker or its node dies.
_MAX_RETRIES = 3
# Seconds that a cluster may take to answer at all.
_PATIENCE = 10.0


@dataclass(frozen=True)
class TaskResources:
    """What one block of trials takes on a node: CPU cores and GPUs."""

    cpus: int
    gpus: int

    def fit(self, node: dict[str, Any]) -> bool:
        """Whether a node, as Ray describes it, has as much."""
        there = node["Resources"]
        enough = there.get("CPU", 0) >= self.cpus and there.get("GPU", 0) >= self.gpus
        return bool(node["Alive"] and enough)


def run_on_ray(
    studies: Sequence[StudyPlan],
    out: Path,
    options: SweepOptions,
    events: SweepEvents,
    resources: TaskResources,
) -> None:
    """Trains what is missing of the studies on a cluster and writes shards below a folder.

    The cluster is that of RAY_ADDRESS, else one of this machine alone, which starts and ends with
    the sweep.

    Raises:
        DbtoolError: as `run_sweep`; also when Ray is not installed, no cluster answers or none of
            its nodes is large enough, its nodes have other versions, or workers die repeatedly.
    """
    studies, options = _from_anywhere(studies, options)
    with whole_sweep(studies, out):
        blocks = next_blocks(studies, out, options)
        if not any(blocks):
            return
        with _cluster() as ray:
            _refuse_small_nodes(ray.nodes(), resources)
            cluster = _Cluster(ray, options, resources)
            for study, left in zip(studies, blocks, strict=True):
                cluster.submit(study, left)
            while cluster.waiting:
                study, trial_ids, shard = cluster.next_shard()
                events.on_block(study, trial_ids)
                events.on_steps(shard.rows - len(trial_ids))
                path = receive_shard(study.folder(out), shard.name, shard.content)
                events.on_shard(path, shard.rows)
                if not cluster.trains(study):
                    cluster.submit(study, next_blocks([study], out, options)[0])


def _from_anywhere(
    studies: Sequence[StudyPlan], options: SweepOptions
) -> tuple[list[StudyPlan], SweepOptions]:
    """The sweep with whole paths, since workers have working folders of their own."""

    def whole(path: Path | None) -> Path | None:
        return None if path is None else path.absolute()

    training = replace(options.training, vocabulary=whole(options.training.vocabulary))
    return (
        [replace(study, replacement=whole(study.replacement)) for study in studies],
        replace(options, datasets=whole(options.datasets), training=training),
    )


class _Cluster:
    """The blocks that a cluster trains."""

    def __init__(self, ray: Any, options: SweepOptions, resources: TaskResources) -> None:
        self._ray = ray
        self._options = options
        self._resources = resources
        self._versions = versions()
        self._train = ray.remote(train_block_of).options(
            name="train_block_of",
            num_cpus=resources.cpus,
            num_gpus=resources.gpus,
            max_retries=_MAX_RETRIES,
        )
        self.waiting: dict[Any, tuple[StudyPlan, tuple[int, ...]]] = {}

    def submit(self, study: StudyPlan, blocks: Sequence[tuple[int, ...]]) -> None:
        """Hands blocks of a study to the cluster."""
        for trial_ids in blocks:
            job = Job(
                study,
                trial_ids,
                self._options,
                self._resources.cpus,
                self._resources.gpus,
                self._versions,
            )
            self.waiting[self._train.remote(job)] = (study, trial_ids)

    def trains(self, study: StudyPlan) -> bool:
        """Whether blocks of a study are not finished yet."""
        return any(waiting is study for waiting, _ in self.waiting.values())

    def next_shard(self) -> tuple[StudyPlan, tuple[int, ...], FinishedShard]:
        """Waits for any block; it no longer counts as waiting.

        Raises:
            DbtoolError: when the block could not be trained.
        """
        (done,), _ = self._ray.wait(list(self.waiting), num_returns=1)
        study, trial_ids = self.waiting.pop(done)
        return study, trial_ids, self._fetched(done, f"{study.name}, trials {_range(trial_ids)}")

    def _fetched(self, done: Any, block: str) -> FinishedShard:
        errors = self._ray.exceptions
        try:
            shard: FinishedShard = self._ray.get(done)
        except errors.RayTaskError as error:
            if isinstance(error.cause, DbtoolError):
                raise error.cause from None
            if isinstance(error.cause, ImportError):
                raise DbtoolError(
                    f"a Ray worker cannot train: {error.cause}; "
                    "install the same versions of dbtool and its libraries on every node"
                ) from error
            raise
        except errors.RayError as error:
            reason = str(error).strip().splitlines()[0].rstrip(".")
            raise DbtoolError(
                f"the Ray workers that trained {block} died {_MAX_RETRIES + 1} times ({reason}); "
                "run the same command again to go on, with a smaller --block if memory was short"
            ) from error
        return shard


@contextlib.contextmanager
def _cluster() -> Iterator[Any]:
    """Ray, connected to a cluster until the end; what is still trained there then is given up."""
    try:
        import ray
    except ImportError as error:
        raise DbtoolError(
            "Ray is not installed; install it with `pip install 'dbtool[cluster]'`"
        ) from error
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    address = os.environ.get("RAY_ADDRESS")
    try:
        if address:
            _knock(address)
            ray.init(address=address, **quiet)
        else:
            # Nothing is reported to Ray's makers unless the person asks for it.
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            ray.init(address="local", include_dashboard=False, **quiet)
    except (OSError, ValueError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise DbtoolError(
            f"cannot use the Ray cluster at RAY_ADDRESS={address or ''} ({reason}); start one "
            "with `ray start --head`, or unset RAY_ADDRESS to start one for this sweep alone"
        ) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """Raises OSError when nothing listens at an address; Ray itself would try for minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE).close()


def _refuse_small_nodes(nodes: Sequence[dict[str, Any]], resources: TaskResources) -> None:
    """Raises DbtoolError when a block would wait for ever."""
    if not any(resources.fit(node) for node in nodes):
        raise DbtoolError(
            f"no node of the Ray cluster has {resources.cpus} CPUs and {resources.gpus} GPUs; "
            "ask for less with --cpus-per-task or --gpus-per-task, or add such a node"
        )


def _range(trial_ids: Sequence[int]) -> str:
    return f"{trial_ids[0]} to {trial_ids[-1]}"
