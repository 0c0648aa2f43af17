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


def lanes() -> int:
    """How many trials a device trains side by side at most: one on a CPU core, all elsewhere."""
    import jax

    return 1 if jax.default_backend() == "cpu" else sys.maxsize


def provenance(batches: str) -> dict[str, Any]:
    """What a shard records of the program, its libraries and the device (schema/shard.toml).

    Args:
        batches: "own" where each trial draws its own, "shared" where a study's trials share them.
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
        "devices": jax.local_device_count(),
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
