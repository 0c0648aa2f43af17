"""The devices that train: a mesh whose axes tell how they share the work.

Devices along the axis `trial` train different trials; those along `data` share each batch of the
same trials. Small models are quickest with all devices along `trial`, which need not talk to one
another; a large model's batch fits, or is quick, only when many devices share it.
"""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from dbtool.core.errors import DbtoolError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TRIAL = "trial"
DATA = "data"
TRIALS = PartitionSpec(TRIAL)
EVERYWHERE = PartitionSpec()

# Python does not see Ctrl-C while JAX waits for a call that may take minutes, but does while it
# waits for a thread.
_FETCHER = ThreadPoolExecutor(max_workers=1)


def device_mesh(
    devices: Sequence[jax.Device] | None = None, *, devices_a_trial: int = 1
) -> jax.sharding.Mesh:
    """Return the mesh over some devices, by default those of all processes.

    So many of them as `devices_a_trial` share each batch.
    """
    chosen = list(devices or jax.devices())
    if len(chosen) % devices_a_trial:
        raise UsageError(
            f"{len(chosen)} devices cannot be divided into groups of {devices_a_trial}; "
            f"choose a divisor of {len(chosen)} with --devices-per-trial"
        )
    shape = (len(chosen) // devices_a_trial, devices_a_trial)
    return jax.make_mesh(shape, (TRIAL, DATA), devices=chosen, axis_types=(AxisType.Auto,) * 2)


def put(array: np.ndarray, mesh: jax.sharding.Mesh, spec: PartitionSpec) -> jax.Array:
    """Copy an array that every process holds whole to the devices of a mesh."""
    return from_processes(NamedSharding(mesh, spec), array, array.shape)


def from_processes(sharding: NamedSharding, local: np.ndarray, shape: tuple[int, ...]) -> jax.Array:
    """Make an array of a shape from what each process holds: along each axis all, or its part."""
    array: jax.Array = jax.make_array_from_process_local_data(sharding, local, shape)
    return array


def on_host(array: jax.Array) -> np.ndarray:
    """Return an array on this host, which holds the whole of it, once it has been computed."""
    return _FETCHER.submit(np.asarray, array).result()


def is_first() -> bool:
    """Return whether this process writes for all."""
    return jax.process_index() == 0


def from_first(find: Callable[[], Any]) -> Any:
    """Return on every process what a function returns on the first; it must fit in JSON.

    Raises:
        DbtoolError: on every process, when it is raised on the first.
    """
    if jax.process_count() == 1:
        return find()
    answer: dict[str, Any] = {}
    if is_first():
        try:
            answer = {"value": find()}
        except DbtoolError as error:
            answer = {"error": str(error)}
    answer = json.loads(_broadcast(json.dumps(answer).encode()))
    if "error" in answer:
        raise DbtoolError(answer["error"])
    return answer["value"]


def on_any(*wanted: bool) -> list[bool]:
    """Return of each whether any process wants it; all have to call this at the same point."""
    if jax.process_count() == 1:
        return list(wanted)
    from jax.experimental import multihost_utils

    of_processes = np.asarray(multihost_utils.process_allgather(np.array(wanted)))
    return [bool(of_all.any()) for of_all in of_processes.T]


def same_on_all(value: Any) -> bool:
    """Return whether all processes have the same value; each has to call this at the same point."""
    if jax.process_count() == 1:
        return True
    from jax.experimental import multihost_utils

    digest = np.frombuffer(hashlib.sha256(json.dumps(value).encode()).digest(), np.uint8)
    return bool((np.asarray(multihost_utils.process_allgather(digest)) == digest).all())


def _broadcast(text: bytes) -> bytes:
    """Return the first process's bytes; every process has to call this at the same point."""
    from jax.experimental import multihost_utils

    length = int(multihost_utils.broadcast_one_to_all(np.int32(len(text))))
    padded = np.frombuffer(text.ljust(length, b"\0")[:length], np.uint8)
    return np.asarray(multihost_utils.broadcast_one_to_all(padded), np.uint8).tobytes()
