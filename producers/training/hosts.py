"""Agreement between the processes of a sweep that trains on the devices of several hosts.

Each process runs the same program; the first alone looks at the folder of shards and writes there.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from dbtool.core.errors import DbtoolError

if TYPE_CHECKING:
    from collections.abc import Callable


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
