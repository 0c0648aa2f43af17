"""Every workload that can be trained, by name.

Adding one is adding an entry to the module of its kind.
"""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING

from dbtool.core.errors import unknown
from producers.workloads.extra import EXTRA_WORKLOADS
from producers.workloads.mnist import MNIST_WORKLOADS
from producers.workloads.published import IMAGE_WORKLOADS, TEXT_WORKLOADS
from producers.workloads.sparse import SPARSE_WORKLOADS

if TYPE_CHECKING:
    from producers.workloads.definition import Workload

_ALL = (
    *MNIST_WORKLOADS,
    *IMAGE_WORKLOADS,
    *TEXT_WORKLOADS,
    *SPARSE_WORKLOADS,
    *EXTRA_WORKLOADS,
)

WORKLOADS = {workload.name: workload for workload in _ALL}


def find_workloads(patterns: list[str]) -> list[Workload]:
    """Return the workloads that names or patterns, such as `mnist/fc_*`, stand for."""
    found: dict[str, Workload] = {}
    for pattern in patterns:
        names = [name for name in WORKLOADS if fnmatch.fnmatchcase(name, pattern)]
        if not names:
            raise unknown("workload", pattern, WORKLOADS, "dbtool produce --list")
        found.update((name, WORKLOADS[name]) for name in names)
    return list(found.values())
