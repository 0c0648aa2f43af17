"""The devices that train: a mesh whose axes tell how they share the work.

Devices along the axis `trial` train different trials; those along `data` share each batch of the
same trials. Small models are quickest with all devices along `trial`, which need not talk to one
another; a large model's batch fits, or is quick, only when many devices share it.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import numpy as np
from jax.experimental.mesh_utils import create_hybrid_device_mesh
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from dbtool.core.errors import DbtoolError, UsageError

TRIAL = "trial"
DATA = "data"
TRIALS = PartitionSpec(TRIAL)
EVERYWHERE = PartitionSpec()
_ALIGNMENT = 64  # bytes, of the beginning of an array in XLA's memory

# Python does not see Ctrl-C while JAX waits for a call that may take minutes, but does while it
# waits for a thread.
_FETCHER = ThreadPoolExecutor(max_workers=1)


def device_mesh(devices: Sequence[jax.Device] | None = None, *, devices_a_trial: int = 1) -> Mesh:
    """Return the mesh over some devices, by default those of all processes.

    So many of them as `devices_a_trial` share each batch: those of one slice of TPUs, and of as few
    hosts of other devices as can be, since the network between these is slow.

    Raises:
        UsageError: `devices_a_trial` does not divide the devices, or those of a slice of TPUs.
    """
    chosen = list(devices or jax.devices())
    is_tpu = chosen[0].platform == "tpu"
    # TPUs of a single slice may have no number of it.
    counts = Counter(
        getattr(each, "slice_index", 0) if is_tpu else each.process_index for each in chosen
    )
    # Hosts may have unequal numbers of devices, which are then taken in their order.
    groups = len(counts) if len(set(counts.values())) == 1 else 1
    of_group = len(chosen) // groups
    most = of_group if is_tpu else len(chosen)
    if most % devices_a_trial:
        raise UsageError(
            f"{most} devices{' of a slice' * (groups > 1)} cannot be divided into groups of "
            f"{devices_a_trial}; choose a divisor of {most} with --devices-per-trial"
        )
    within = math.gcd(of_group, devices_a_trial)
    shape = (of_group // within, within)
    options: Any = {"axis_types": (AxisType.Auto,) * 2}
    if groups == 1:
        return jax.make_mesh(shape, (TRIAL, DATA), devices=chosen, **options)
    between = (groups * within // devices_a_trial, devices_a_trial // within)
    arranged = create_hybrid_device_mesh(
        *(shape, between, chosen), process_is_granule=not is_tpu, allow_split_physical_axes=True
    )
    return Mesh(arranged, (TRIAL, DATA), **options)


def put(array: np.ndarray, mesh: Mesh, spec: PartitionSpec) -> jax.Array:
    """Copy an array that every process holds whole to the devices of a mesh."""
    return from_processes(NamedSharding(mesh, spec), array, array.shape)


def put_everywhere(array: np.ndarray, mesh: Mesh) -> jax.Array:
    """Copy an array that every process holds whole to each device, once for all CPU devices.

    These take memory as it is where it begins as XLA's own does, and copy any other each.
    """
    held = np.empty(array.nbytes + _ALIGNMENT, np.uint8)
    start = -held.ctypes.data % _ALIGNMENT
    aligned = held[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    aligned[...] = array
    return put(aligned, mesh, EVERYWHERE)


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
    """Return whether all processes have the same value; it is one for `from_first`."""
    return on_any(from_first(lambda: value) != value) == [False]


def _broadcast(text: bytes) -> bytes:
    """Return the first process's bytes; every process has to call this at the same point."""
    from jax.experimental import multihost_utils

    length = int(multihost_utils.broadcast_one_to_all(np.int32(len(text))))
    padded = np.frombuffer(text.ljust(length, b"\0")[:length], np.uint8)
    return np.asarray(multihost_utils.broadcast_one_to_all(padded), np.uint8).tobytes()
