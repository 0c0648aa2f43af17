"""Every workload that can be trained, by name.

Adding one is adding an entry to the module of its kind.
"""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING

from dbtool.errors import unknown
from producers.workloads.extra import EXTRA_WORKLOADS
from producers.workloads.mnist import MNIST_WORKLOADS

if TYPE_CHECKING:
    from producers.workloads.definition import Workload

PUBLISHED = MNIST_WORKLOADS
"""Those of Shallue et al. (2019)."""

WORKLOADS = {workload.name: workload for workload in (*PUBLISHED, *EXTRA_WORKLOADS)}


def find_workloads(patterns: list[str]) -> list[Workload]:
    """The workloads that the given names or patterns (`mnist/fc_*`) stand for, in their order.

    Raises:
        UsageError: when one stands for none.
    """
    found: dict[str, Workload] = {}
    for pattern in patterns:
        names = [name for name in WORKLOADS if fnmatch.fnmatchcase(name, pattern)]
        if not names:
            raise unknown("workload", pattern, WORKLOADS, "dbtool produce --list")
        found.update((name, WORKLOADS[name]) for name in names)
    return list(found.values())
