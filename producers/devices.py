"""The devices that train, and what a shard records of them."""

import dataclasses
import datetime as dt
import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs

import dbtool
from dbtool.core.errors import DbtoolError, UsageError, first_sentence

if TYPE_CHECKING:
    from producers.plan import StudyPlan
    from producers.training.block import BlockProgram

_PROCESSES, _PROCESS = "JAX_NUM_PROCESSES", "JAX_PROCESS_ID"
_MOST_BYTES_COMPILED = 4 * 2**30
_LIBRARIES = ("jax", "jaxlib", "flax", "optax", "numpy", "scipy")


def configure_devices(cores: int | None = None) -> None:
    """Let JAX see CPU cores as devices of their own, and multiply float32 as float32.

    So cores train different trials: as many as `cores`, else all that this process may use, at most
    NPROC, which bounds the threads of XLA. GPUs and TPUs would round the factors of products to
    fewer digits; what JAX_DEFAULT_MATMUL_PRECISION says holds instead. Has to run before JAX first
    looks for devices; a process that has already done so keeps them.
    """
    import jax

    if jax.config.values["jax_default_matmul_precision"] is None:
        jax.config.update("jax_default_matmul_precision", "float32")
    if cores is None:
        has_affinity = hasattr(os, "sched_getaffinity")
        cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
        threads = os.environ.get("NPROC", "")
        cores = min(cores, int(threads)) if threads.isdecimal() and int(threads) else cores
    try:
        jax.config.update("jax_num_cpu_devices", cores)
    except RuntimeError:
        # JAX refuses once its devices exist.
        return


def keep_compiled(backend: str) -> None:
    """Let processes take what others have compiled for GPUs and TPUs from the user's cache.

    A folder that JAX is told of stays, such as that of JAX_COMPILATION_CACHE_DIR. Programs for CPUs
    are not kept by themselves: on some processors JAX reports each that it loads as an error, and
    on some it crashes (github.com/jax-ml/jax/issues/38445).
    """
    import jax

    folder = platformdirs.user_cache_path("dbtool", appauthor=False) / "compiled"
    if backend == "cpu" or jax.config.values["jax_compilation_cache_dir"] is not None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return
    # Where it cannot write, JAX would warn of each program.
    if os.access(folder, os.W_OK):
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_compilation_cache_max_size", _MOST_BYTES_COMPILED)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)


def join_hosts() -> None:
    """Make the devices of all hosts that run this program one set of devices.

    The processes find one another as JAX does: by themselves on Slurm, Open MPI, Kubernetes and
    TPUs; elsewhere by JAX_COORDINATOR_ADDRESS (host:port of the first process), JAX_NUM_PROCESSES
    and JAX_PROCESS_ID (from zero), which have to be set on all. Has to run before JAX first looks
    for devices.

    Raises:
        UsageError: when these variables are not set as they should, and nothing else tells.
        DbtoolError: when the processes do not find one another.
    """
    import jax

    numbers: dict[str, int] = {}
    for name in (_PROCESSES, _PROCESS):
        text = os.environ.get(name)
        if text is not None and not text.isdecimal():
            raise UsageError(f"{name} is '{text}'; set it to a whole number from zero")
        if text is not None:
            numbers[name] = int(text)
    try:
        # The address is read from the environment by JAX itself.
        jax.distributed.initialize(
            num_processes=numbers.get(_PROCESSES), process_id=numbers.get(_PROCESS)
        )
    except ValueError as error:
        raise UsageError(
            f"cannot tell which hosts train together ({error}); set JAX_COORDINATOR_ADDRESS, "
            f"{_PROCESSES} and {_PROCESS} on each, or leave out --distributed"
        ) from error
    except RuntimeError as error:
        raise DbtoolError(
            f"the hosts that train together did not find one another ({first_sentence(error)}); "
            "start all of them within five minutes, with the same JAX_COORDINATOR_ADDRESS"
        ) from error


def lanes() -> int:
    """Return the most trials that a device trains side by side: one on a CPU core, else all."""
    import jax

    return 1 if jax.default_backend() == "cpu" else sys.maxsize


def provenance(study: "StudyPlan", program: "BlockProgram", trials: int) -> dict[str, Any]:
    """Return what a shard of so many trials records of the program, its libraries and the device.

    Batches are "own" where each trial draws its own, "shared" where a study's trials share them.
    The origin is the code that defines the workload, where this package does not.
    """
    import jax

    device, origin = jax.local_devices()[0], study.workload.origin
    return {
        "dbtool": dbtool.__version__,
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in _LIBRARIES},
        "device": _cpu_name() if device.platform == "cpu" else str(device.device_kind),
        "devices": jax.device_count(),
        "devices_per_trial": program.devices_a_trial,
        "micro_batch": program.batch_shape(study.batch_size)[1],
        "side_by_side": program.side_by_side(trials),
        "remat": program.trainer.remat,
        "matmul_precision": jax.config.values["jax_default_matmul_precision"],
        "platform": f"{platform.system()} {platform.machine()}",
        "git_revision": _git_revision(),
        "batches": "shared" if study.shared_batches else "own",
        **({} if origin is None else {"origin": dataclasses.asdict(origin)}),
        "created": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
    }


def _cpu_name() -> str:
    """Return the processor as the system names it; on Linux platform.processor() is often empty."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _git_revision() -> str | None:
    """Return the revision of the checkout that this code runs from; None outside a checkout."""
    root = Path(__file__).resolve().parent.parent
    git = shutil.which("git")
    if git is None or not (root / ".git").exists():
        return None
    described = subprocess.run(  # noqa: S603 (its only argument is this package's own folder)
        [git, "-C", str(root), "describe", "--always", "--abbrev=40", "--dirty"],
        capture_output=True,
        text=True,
        check=False,
    )
    return described.stdout.strip() or None
