"""Trains a block with a checkpoint after every call: `python -m support.checkpointed FOLDER FILE`.

The block has networks with pruned weights, momentum and running statistics, and trials that
diverge, so that it shrinks. Writes its rows into the file. With a third word, only the first
checkpoint can be written, as on a disk that is full afterwards.
"""

import resource
import sys
from pathlib import Path

import jax
import numpy as np

from producers.training.block_record import Progress
from producers.training.checkpoints import Checkpoints
from tests.support.blocks import Rows, rows, train

STEPS = 16
EVALUATIONS = {step: step in {0, STEPS} for step in range(0, STEPS + 1, 2)}
DIVERGING = {0: 1e30, 2: 1e30}
BLOCK = {"workload": "made up", "trials": [0, 1, 2, 3]}


def block_rows(checkpoints: Checkpoints | None) -> Rows:
    """The rows of the block."""
    record = train(
        "normalised",
        diverging=DIVERGING,
        sparsity=0.5,
        evaluations=EVALUATIONS,
        checkpoints=checkpoints,
    )
    return rows(record)


class ThenFull(Checkpoints):
    """After its first checkpoint, this process can write no file of more than 100 bytes."""

    def save_when_due(self, progress: Progress) -> None:
        if resource.getrlimit(resource.RLIMIT_FSIZE)[0] == 100:
            super().save_when_due(progress)
        else:
            self.save(progress)
            _limit_files(100)


def main() -> None:
    """Trains the block, or goes on with it."""
    jax.config.update("jax_num_cpu_devices", 8)
    folder, file, *full = sys.argv[1:]
    kind = ThenFull if full else Checkpoints
    found = block_rows(kind(Path(folder), BLOCK, 0.0))
    _limit_files(resource.RLIM_INFINITY)
    np.savez(file, allow_pickle=False, **found)


def _limit_files(size: int) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, most))


if __name__ == "__main__":
    main()
