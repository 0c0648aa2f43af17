"""One of the processes that train together: `python -m tests.support.host_process FOLDER CASE...`.

Each has two devices. Writes what the cases gave on this process into the folder.
"""

import functools
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from jax.experimental import multihost_utils

from dbtool.core.errors import DbtoolError
from producers.devices import join_hosts
from producers.training.checkpoints import Checkpoints
from producers.training.mesh import from_first, is_first
from tests.support.blocks import (
    NEVER,
    CountedSource,
    Rows,
    compiled,
    rows,
    splits_of,
    stopped_and_resumed,
    train,
)

DEVICES_OF_EACH = 2
PROCESSES = 2
DEVICES = DEVICES_OF_EACH * PROCESSES
# Which trials are left alive does not fit the hosts that they began on.
DIVERGING = {0: 1e30, 1: 1e30, 2: 300.0}
# Many calls, so that those are still to be read that only some of the trials take part in.
MANY_CALLS = {step: step in {0, 24} for step in range(0, 25, 2)}
CASES: dict[str, dict[str, Any]] = {
    "one trial on all": {"devices_a_trial": DEVICES, "streamed": True},
    "in memory": {"devices_a_trial": DEVICES},
    "micro-batches": {"devices_a_trial": DEVICES, "streamed": True, "micro_batch": 8},
    "trials apart": {"devices_a_trial": 2, "streamed": True},
    "shared batches": {"devices_a_trial": 2, "streamed": True, "shared": True},
    "diverging": {
        "devices_a_trial": 2,
        "streamed": True,
        "diverging": DIVERGING,
        "evaluations": MANY_CALLS,
    },
}
RESUMED = "resumed"
STOPPED_AT = 4


def main() -> None:
    """Trains the cases."""
    folder, names = Path(sys.argv[1]), sys.argv[2:]
    jax.config.update("jax_num_cpu_devices", DEVICES_OF_EACH)
    join_hosts()
    found = folder / str(jax.process_index())
    found.mkdir()
    for name in names:
        if name == RESUMED:
            np.savez(found / name, allow_pickle=False, **_resumed_rows(folder))
        else:
            np.savez(found / name, allow_pickle=False, **_rows_and_reads(CASES[name]))
    told = from_first(lambda: {"process": int(jax.process_index()), "words": ["ä", 1, None]})
    assert told == {"process": 0, "words": ["ä", 1, None]}
    assert is_first() == (jax.process_index() == 0)
    calls, collectives = _calls_and_collectives(folder)
    # Two tell all that there is nothing to go on from.
    assert (calls, collectives) == (12, 12 + 2)
    with pytest.raises(DbtoolError, match="the first process found nothing"):
        from_first(_fails)


def _rows_and_reads(case: dict[str, Any]) -> Rows:
    """The rows of a case, and the numbers of the examples that this process has read for it."""
    shared, micro_batch = case.get("shared", False), case.get("micro_batch")
    program = compiled("fc", DEVICES, case["devices_a_trial"], 1, shared, micro_batch)
    splits = splits_of(program, streamed=case.get("streamed", False))
    record = train("fc", devices=DEVICES, splits=splits, **case)
    reads = {
        part: np.array(source.drawn)
        for part in ("training", "validation")
        if isinstance(source := getattr(splits, part), CountedSource)
    }
    return rows(record) | reads


def _resumed_rows(folder: Path) -> Rows:
    """The rows of the diverging case, stopped in the middle and resumed."""
    diverging = functools.partial(train, "fc", devices=DEVICES, **CASES["diverging"])
    return rows(stopped_and_resumed(folder, STOPPED_AT, diverging))


def _calls_and_collectives(folder: Path) -> tuple[int, int]:
    """Calls of a block, and how often its processes exchange something besides."""
    counted = Counter[str]()

    def counting(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any, **named: Any) -> Any:
            counted[name] += 1
            return function(*arguments, **named)

        return called

    checkpoints = Checkpoints(folder, "counted", NEVER)
    on_steps = counting("calls", lambda _: None)
    case = CASES["diverging"] | {"diverging": None}
    with pytest.MonkeyPatch.context() as patch:
        for name in ("process_allgather", "broadcast_one_to_all"):
            function = getattr(multihost_utils, name)
            patch.setattr(multihost_utils, name, counting("collectives", function))
        train("fc", devices=DEVICES, checkpoints=checkpoints, on_steps=on_steps, **case)
    return counted["calls"], counted["collectives"]


def _fails() -> None:
    raise DbtoolError("the first process found nothing")


if __name__ == "__main__":
    main()
