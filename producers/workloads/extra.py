"""Workloads beyond the papers: other optimizers and data sets than theirs."""

from __future__ import annotations

from dataclasses import replace

from producers.workloads.mnist import ALL, CERTAINTY, mnist_workload

_CHOSEN = CERTAINTY | {"batch_sizes": "chosen", "goal": "chosen", "search_space": "chosen"}


_NETWORK = replace(mnist_workload("fc_128_128_128", "sgd", 0.03, ALL, _CHOSEN), paper=None)

EXTRA_WORKLOADS = (
    *(
        replace(mnist_workload("fc_128_128_128", optimizer, 0.03, ALL, _CHOSEN), paper=None)
        for optimizer in ("momentum", "nesterov_momentum")
    ),
    replace(_NETWORK, dataset="fashion_mnist", source="fashion_mnist", goal=0.13),
)
