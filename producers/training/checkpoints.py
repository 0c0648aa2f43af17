"""Checkpoints of a block in training, so that a long one goes on after a kill to the step.

Orbax writes them: whole or not at all, each process what its devices hold. They lie beside the
shards of their study and are removed once the block's shard is there.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
import orbax.checkpoint as ocp

from producers.training.mesh import same_on_every_process
from producers.training.records import BlockRecord
from producers.training.run import Progress
from producers.training.slots import Slots

if TYPE_CHECKING:
    from pathlib import Path

    from producers.training.block import BlockProgram

CHECKPOINT_PREFIX = ".checkpoint-"


class Checkpoints:
    """The checkpoints of one block of trials.

    Args:
        folder: of the study's shards.
        identity: everything that the block's rows follow from, as JSON can hold it: a checkpoint of
            another block is never taken for one of this.
        every_seconds: how long after the last checkpoint the next one is due.
    """

    def __init__(self, folder: Path, identity: Any, every_seconds: float) -> None:
        text = json.dumps(identity, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        self._folder = folder.absolute() / f"{CHECKPOINT_PREFIX}{digest}"
        self._every_seconds = every_seconds
        self._last = time.monotonic()

    def restored(self, program: BlockProgram, trials: int, *, pruned: bool) -> Progress | None:
        """How far the block had come; None where there is no checkpoint.

        Args:
            program: the compiled functions of the workload, on the same mesh or another.
            trials: how many trials the block has.
            pruned: whether the trials' networks are pruned.
        """
        if not self._folder.exists():
            return None
        with self._manager() as manager:
            step = manager.latest_step()
            if step is None:
                return None
            host = manager.restore(step, args=_Items(host=ocp.args.StandardRestore())).host
            record = BlockRecord.from_arrays(host["record"])
            slots = Slots(trials, program.places)
            slots.trial, slots.alive = host["trial"], host["alive"].astype(bool)
            abstract = program.abstract_states(len(slots.trial), pruned=pruned)
            leaves, form = jax.tree.flatten(abstract)
            saved = manager.restore(
                step, args=_Items(states=ocp.args.StandardRestore(_numbered(leaves)))
            ).states
        states = jax.tree.unflatten(form, [saved[name] for name in _numbered(leaves)])
        return Progress(states, slots, record, step, int(host["evaluations"][0]))

    def save_when_due(self, progress: Progress) -> None:
        """Saves if the last checkpoint is long enough ago; the first process decides for all."""
        due = time.monotonic() - self._last >= self._every_seconds
        if same_on_every_process(due):
            self.save(progress)

    def save(self, progress: Progress) -> None:
        """Saves a checkpoint and removes the one before."""
        host = {
            "record": progress.record.arrays(),
            "trial": progress.slots.trial.astype(np.int64),
            "alive": progress.slots.alive.astype(np.uint8),
            "evaluations": np.array([progress.evaluations], np.int64),
        }
        with self._manager() as manager:
            manager.save(
                progress.step,
                args=_Items(
                    states=ocp.args.StandardSave(_numbered(jax.tree.leaves(progress.states))),
                    host=ocp.args.StandardSave(host),
                ),
            )
            manager.wait_until_finished()
        self._last = time.monotonic()

    def remove(self) -> None:
        """Removes the checkpoint, once the block's shard is written."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _manager(self) -> ocp.CheckpointManager:
        options = ocp.CheckpointManagerOptions(
            max_to_keep=1, create=True, enable_async_checkpointing=False
        )
        return ocp.CheckpointManager(self._folder, options=options)


_Items = ocp.args.Composite


def _numbered(leaves: list[Any]) -> dict[str, Any]:
    """The arrays of the states by their place in the tree, whose form the workload gives."""
    return {f"{number:04}": leaf for number, leaf in enumerate(leaves)}
