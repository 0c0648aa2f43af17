"""The devices that train, and what a shard records of them."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import dbtool
from dbtool.errors import DbtoolError, UsageError

_PROCESSES, _PROCESS = "JAX_NUM_PROCESSES", "JAX_PROCESS_ID"


def configure_devices() -> None:
    """Lets JAX see every CPU core as a device of its own, so that cores train different trials.

    Has to run before JAX first looks for devices; a process that has already done so keeps them.
    """
    import jax

    try:
        jax.config.update("jax_num_cpu_devices", _usable_cores())
    except RuntimeError:
        # JAX refuses once its devices exist.
        return


def join_hosts() -> None:
    """Makes the devices of all hosts that run this program one set of devices.

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
        if text is None:
            continue
        if not text.isdecimal():
            raise UsageError(f"{name} is '{text}'; set it to a whole number from zero")
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
            f"the hosts that train together did not find one another ({_one_line(error)}); start "
            "all of them within five minutes, with the same JAX_COORDINATOR_ADDRESS"
        ) from error


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def lanes() -> int:
    """How many trials a device trains side by side at most: one on a CPU core, all elsewhere."""
    import jax

    return 1 if jax.default_backend() == "cpu" else sys.maxsize


def provenance(batches: str, devices_a_trial: int, micro_batch: int) -> dict[str, Any]:
    """What a shard records of the program, its libraries and the device (schema/shard.toml).

    Args:
        batches: "own" where each trial draws its own, "shared" where a study's trials share them.
        devices_a_trial: how many devices shared each batch.
        micro_batch: how many examples passed through the model at a time.
    """
    import jax

    versions = {
        name: importlib.metadata.version(name)
        for name in ("jax", "jaxlib", "flax", "optax", "numpy", "scipy")
    }
    return {
        "dbtool": dbtool.__version__,
        "python": platform.python_version(),
        **versions,
        "device": _device_name(),
        "devices": jax.device_count(),
        "devices_per_trial": devices_a_trial,
        "micro_batch": micro_batch,
        "platform": f"{platform.system()} {platform.machine()}",
        "git_revision": _git_revision(),
        "batches": batches,
        "created": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
    }


def _usable_cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _device_name() -> str:
    import jax

    device = jax.local_devices()[0]
    return _cpu_name() if device.platform == "cpu" else str(device.device_kind)


def _cpu_name() -> str:
    """The processor as the system names it; on Linux platform.processor() is often empty."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _git_revision() -> str | None:
    """The revision of the checkout that this code runs from; None outside a checkout."""
    root = Path(__file__).resolve().parent.parent
    git = shutil.which("git")
    if git is None or not (root / ".git").exists():
        return None
    # The command is fixed and its argument is this package's own folder.
    described = subprocess.run(  # noqa: S603
        [git, "-C", str(root), "describe", "--always", "--abbrev=40", "--dirty"],
        capture_output=True,
        text=True,
        check=False,
    )
    return described.stdout.strip() or None
