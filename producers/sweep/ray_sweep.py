"""Run a sweep on a Ray cluster: its workers train blocks, this process writes their shards.

A shard travels as bytes, so that the nodes of a cluster need no file system in common.
"""

import contextlib
import dataclasses
import importlib.metadata
import logging
import os
import platform
import signal
import socket
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

import dbtool
from dbtool.core.errors import DbtoolError
from dbtool.core.own_code import blaming_own_code
from dbtool.core.resources import libraries_of
from dbtool.core.shards import write_shard
from producers.configuration import SweepOptions
from producers.devices import configure_devices, keep_compiled
from producers.plan import StudyPlan
from producers.sweep.events import SweepEvents
from producers.sweep.run import next_blocks, sweep_writer
from producers.workloads.definition import Origin
from producers.workloads.own import LOADED, OwnFile, load_file, load_own

if TYPE_CHECKING:
    from producers.sweep.session import StudySession

_SAME_EVERYWHERE = ("jax", "jaxlib", "flax", "optax", "numpy", "pyarrow")
# Machines that come and go end workers at any time, so that a block may be trained anew as long as
# others get done; one that ends its workers by itself is left alone with them at last.
_MOST_DEATHS = 4
# Seconds that a cluster may take to answer at all.
_PATIENCE = 10.0
# Seconds after which what was trained is listed, while other blocks are.
_AT_A_TIME = 5.0


def run_on_ray(
    studies: Sequence[StudyPlan], out: Path, options: SweepOptions, events: SweepEvents
) -> None:
    """Train what is missing of the studies on a cluster and add it to a release folder.

    The cluster is that of RAY_ADDRESS, else one of this machine alone, which starts and ends with
    the sweep.

    Raises:
        DbtoolError: as `run_sweep`; also when Ray is not installed, no cluster answers or none of
            its nodes is large enough, its nodes have other versions, or workers die repeatedly.
    """
    studies, options = _from_anywhere(studies, options)
    with sweep_writer(studies, out, options) as writer:
        blocks = next_blocks(studies, out, writer.index, options)
        if not any(blocks):
            return
        with _cluster() as ray:
            refuse_small_nodes(ray.nodes(), options)
            cluster = _Cluster(ray, options)
            for study, left in zip(studies, blocks, strict=True):
                cluster.submit(study, left)
            while cluster.waiting:
                study, trial_ids, (shard, rows) = cluster.next_shard(writer.list_when_due)
                events.on_block(study, trial_ids)
                events.on_steps(rows - len(trial_ids))
                events.on_shard(writer.receive(shard))
                if not cluster.trains(study):
                    cluster.submit(study, next_blocks([study], out, writer.index, options)[0])
                if not cluster.trains(study):
                    events.on_study(study)


def _from_anywhere(
    studies: Sequence[StudyPlan], options: SweepOptions
) -> tuple[list[StudyPlan], SweepOptions]:
    """Return the sweep with whole paths, since workers have working folders of their own."""

    def whole(path: Path | None) -> Path | None:
        return None if path is None else path.absolute()

    datasets, vocabulary = whole(options.datasets), whole(options.vocabulary)
    return (
        [dataclasses.replace(study, replacement=whole(study.replacement)) for study in studies],
        msgspec.structs.replace(options, datasets=datasets, vocabulary=vocabulary),
    )


class _Cluster:
    def __init__(self, ray: Any, options: SweepOptions) -> None:
        self._ray = ray
        self._options = options
        self._versions = versions()
        self._train = ray.remote(train_block_of).options(
            name="train_block_of",
            num_cpus=options.cpus_per_task,
            num_gpus=options.gpus_per_task,
            # Ray itself would not know whether other blocks got done meanwhile.
            max_retries=0,
        )
        self.waiting: dict[Any, tuple[StudyPlan, tuple[int, ...]]] = {}
        # By block, how often its workers died since a block was trained.
        self._deaths: Counter[tuple[StudyPlan, tuple[int, ...]]] = Counter()

    def submit(self, study: StudyPlan, blocks: Sequence[tuple[int, ...]]) -> None:
        for trial_ids in blocks:
            origin = study.workload.origin
            file = None if origin is None else LOADED[origin]
            job = self._train.remote(study, trial_ids, self._options, self._versions, file)
            self.waiting[job] = (study, trial_ids)

    def trains(self, study: StudyPlan) -> bool:
        return any(waiting is study for waiting, _ in self.waiting.values())

    def next_shard(
        self, meanwhile: Callable[[], None]
    ) -> tuple[StudyPlan, tuple[int, ...], tuple[bytes, int]]:
        while True:
            ready, _ = self._ray.wait(list(self.waiting), num_returns=1, timeout=_AT_A_TIME)
            meanwhile()
            for done in ready:
                study, trial_ids = self.waiting.pop(done)
                try:
                    shard = self._fetched(done)
                except self._ray.exceptions.RayTaskError:
                    raise
                except self._ray.exceptions.RayError as error:
                    self._count_death(study, trial_ids, error)
                    self.submit(study, [trial_ids])
                else:
                    self._deaths.clear()
                    return study, trial_ids, shard

    def _fetched(self, done: Any) -> tuple[bytes, int]:
        try:
            shard: tuple[bytes, int] = self._ray.get(done)
        except self._ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, DbtoolError):
                raise error.cause from None
            if isinstance(error.cause, ImportError):
                raise DbtoolError(
                    f"a Ray worker cannot train: {error.cause}; "
                    "install the same versions of dbtool and its libraries on every node"
                ) from error
            raise
        return shard

    def _count_death(self, study: StudyPlan, trial_ids: tuple[int, ...], error: Exception) -> None:
        self._deaths[study, trial_ids] += 1
        if self._deaths[study, trial_ids] < _MOST_DEATHS:
            return
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise DbtoolError(
            f"the Ray workers that trained {study.name}, trials {trial_ids[0]} to {trial_ids[-1]}, "
            f"died {_MOST_DEATHS} times while no other block ended ({reason}); run the same "
            "command again to go on, with a smaller --block if memory or time was short"
        ) from error


@contextlib.contextmanager
def _cluster() -> Iterator[Any]:
    """Ray, connected to a cluster until the end; what is still trained there then is given up."""
    with libraries_of("cluster", "--on ray needs"):
        import ray
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    address = os.environ.get("RAY_ADDRESS")
    # Ray replaces it with one of its own, which ends the process without a word.
    on_term = signal.getsignal(signal.SIGTERM)
    try:
        if address:
            _connect(address)
            ray.init(address=address, **quiet)
        else:
            # Nothing is reported to Ray's makers unless the person asks for it.
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            ray.init(address="local", include_dashboard=False, **quiet)
    # Ray raises what it likes, such as a bare Exception where a node is slow to start.
    except Exception as error:
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise DbtoolError(
            f"cannot use the Ray cluster at RAY_ADDRESS={address or ''} ({reason}); start one "
            "with `ray start --head`, or unset RAY_ADDRESS to start one for this sweep alone"
        ) from error
    try:
        signal.signal(signal.SIGTERM, on_term)
        yield ray
    finally:
        ray.shutdown()


def _connect(address: str) -> None:
    """Raise OSError when nothing listens at an address; Ray itself would try for minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE).close()


def refuse_small_nodes(nodes: Sequence[dict[str, Any]], options: SweepOptions) -> None:
    """Refuse nodes, as Ray describes them, of which none has what a block takes."""
    cpus, gpus = options.cpus_per_task, options.gpus_per_task
    for node in nodes:
        has = node["Resources"]
        if node["Alive"] and has.get("CPU", 0) >= cpus and has.get("GPU", 0) >= gpus:
            return
    raise DbtoolError(
        f"no node of the Ray cluster has {cpus} CPUs and {gpus} GPUs; ask for less with "
        "--cpus-per-task or --gpus-per-task, or add such a node"
    )


def versions() -> dict[str, str]:
    """Return the versions that have to be the same in all processes of a sweep, by name."""
    found = {name: importlib.metadata.version(name) for name in _SAME_EVERYWHERE}
    return {"dbtool": dbtool.__version__, **found}


def train_block_of(
    study: StudyPlan,
    trial_ids: tuple[int, ...],
    options: SweepOptions,
    expected_versions: dict[str, str],
    file: OwnFile | None = None,
) -> tuple[bytes, int]:
    """Train a block of trials; return the shard's file, and its rows.

    Versions are those of the libraries where the sweep was started. The file is the user's own that
    defines the workload; None where there is none.

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
    keep_compiled("gpu" if options.gpus_per_task else "cpu")
    with blaming_own_code():
        _load_origin(study.workload.origin, file)
        return _trained(study, trial_ids, options)


def _trained(
    study: StudyPlan, trial_ids: tuple[int, ...], options: SweepOptions
) -> tuple[bytes, int]:
    from producers.training.mesh import is_first

    session = _session_of(study, options)
    with tempfile.TemporaryDirectory(prefix="dbtool-") as folder:
        block = session.train(study.trials(trial_ids))
        if not is_first():
            raise DbtoolError(
                f"the Ray node {platform.node()} trains as one of several hosts; "
                "start its workers without the settings of jax.distributed"
            )
        shard = write_shard(Path(folder), block.footer, block.tables)
        return (Path(folder) / shard.path).read_bytes(), shard.rows


def _session_of(study: StudyPlan, options: SweepOptions) -> "StudySession":
    """Return what the blocks of a study share; kept, since a worker trains several of them."""
    from producers.sweep.session import StudySession

    if (study, options) not in _LAST_SESSION:
        # The data of the study before must not lie in memory beside those of the next.
        _LAST_SESSION.clear()
        _LAST_SESSION[study, options] = StudySession(study, options)
    return _LAST_SESSION[study, options]


_LAST_SESSION: "dict[tuple[StudyPlan, SweepOptions], StudySession]" = {}


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
