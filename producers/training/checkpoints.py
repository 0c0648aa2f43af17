"""Checkpoints of a block in training, so that a long one goes on after a kill to the step.

Orbax writes them while training goes on, each process what its devices hold. They lie beside the
shards of their study and are removed once the block's shard is there.

A checkpoint is taken only once a file beside it holds the digest of its files, since Orbax finds
damaged numbers in few of them. That file is written last, and the checkpoint before is removed
after that: so a kill at any moment leaves one that is whole.
"""

import asyncio
import contextlib
import hashlib
import json
import logging
import os
import re
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
import orbax.checkpoint as ocp

from dbtool.core.errors import DbtoolError
from dbtool.core.files import sha256_of, write_whole
from dbtool.core.walk import entries, files_matching, walk
from producers.training.block_record import BlockRecord, Clock, Progress, Slots
from producers.training.mesh import from_first, is_first, on_any
from producers.training.saved import (
    CHECKPOINT_PREFIX,
    DIGEST_SUFFIX,
    IDENTITY_FILE,
    NotSavedWarning,
    checkpoint_name,
    last_step,
)

if TYPE_CHECKING:
    from producers.training.block import BlockProgram

# Orbax also logs the traceback of each error that it raises here.
logging.getLogger("absl").setLevel(logging.CRITICAL)


def _is_worth_telling(record: logging.LogRecord) -> bool:
    """Whether a record of asyncio is none of what a save left behind.

    Orbax writes many arrays at once and raises the first error alone: the others nobody retrieves.
    """
    message = record.getMessage()
    is_of_save = f"{os.sep}orbax{os.sep}" in message or CHECKPOINT_PREFIX in message
    return not ("exception was never retrieved" in message and is_of_save)


def _tell_unraisable(
    before: "Callable[[sys.UnraisableHookArgs], Any]", given: "sys.UnraisableHookArgs"
) -> None:
    """Tell of an error that could not be raised, unless it is of the event loop of a failed save.

    Orbax has closed that when TensorStore's threads, below which is no code in Python, answer it.
    """
    outermost = given.exc_traceback and given.exc_traceback.tb_frame.f_code
    if outermost is not asyncio.BaseEventLoop.call_soon_threadsafe.__code__:
        before(given)


logging.getLogger("asyncio").addFilter(_is_worth_telling)
sys.unraisablehook = partial(_tell_unraisable, sys.unraisablehook)

_MOST_OF_AN_ERROR = 200


class Interrupted(KeyboardInterrupt):
    """Training was to stop, and a checkpoint was saved after this step."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.step = step


class Checkpoints:
    """The checkpoints of one block of trials, in the folder of its study's shards.

    The identity is everything that the block's rows follow from, as JSON can hold it: a checkpoint
    of another block is never taken for one of this. A checkpoint is due so many seconds after the
    last one; at once, and training to stop, where `stopping` says so.
    """

    def __init__(
        self,
        folder: Path,
        identity: Any,
        every_seconds: float,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self._identity = json.dumps(identity, sort_keys=True).encode()
        self._folder = folder.absolute() / checkpoint_name(self._identity)
        self._every_seconds = every_seconds
        self._stopping = stopping
        self._last = time.monotonic()
        self._saver = ocp.AsyncCheckpointer(ocp.CompositeCheckpointHandler())
        self._saving: Path | None = None  # what has been begun and not completed

    def restored(self, program: "BlockProgram", trials: int, *, pruned: bool) -> Progress | None:
        """Restore the progress of the block, on the same mesh or another; None if there is none."""
        step = from_first(self._latest)
        if step is None:
            return None
        folder = self._folder / str(step)
        host = self._saver.restore(folder, _Items(host=ocp.args.StandardRestore())).host
        record = BlockRecord.from_arrays(host["record"])
        slots = Slots(trials, program.slots)
        slots.trial, slots.alive = host["trial"], host["alive"].astype(bool)
        abstract = program.abstract_states(len(slots.trial), pruned=pruned)
        leaves, form = jax.tree.flatten(abstract)
        items = _Items(states=ocp.args.StandardRestore(_numbered(leaves)))
        saved = self._saver.restore(folder, items).states
        states = jax.tree.unflatten(form, [saved[name] for name in _numbered(leaves)])
        return Progress(states, slots, record, step, Clock(*host.get("seconds", ())))

    def save_when_due(self, progress: Progress) -> None:
        """Save if any process is to stop, or the first one's last checkpoint is long enough ago.

        Training goes on while it is written; this completes one that has been. Where a process
        trains alone and cannot save, as on a full disk, it warns and trains on: the checkpoint
        before stays, and the next one is due as if this had been saved.

        Raises:
            DbtoolError: when one of several processes cannot save, or one that is to stop.
            Interrupted: training is to stop, and this is saved.
        """
        due = is_first() and time.monotonic() - self._last >= self._every_seconds
        stop, due = on_any(self._stopping(), due)
        if due or stop or (self._saving is not None and self._saving.exists()):
            with self._warning():
                self._complete()
        if due or stop:
            with self._warning(stop=stop):
                self._begin(progress)
                if stop:
                    self._complete()
        if stop:
            raise Interrupted(progress.step)

    def save(self, progress: Progress) -> None:
        """Save a checkpoint and remove the one before."""
        self._complete()
        self._begin(progress)
        self._complete()

    def remove(self) -> None:
        """Remove the checkpoint, once the block's shard is written; all processes call this."""
        with contextlib.suppress(OSError, ValueError):
            self._saver.close()
        if is_first():
            shutil.rmtree(self._folder, ignore_errors=True)

    @contextlib.contextmanager
    def _warning(self, *, stop: bool = False) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as error:
            sentence = f"cannot save a checkpoint in {self._folder} ({_one_line(error)})"
            if stop or jax.process_count() > 1:
                # The others wait for this process.
                raise DbtoolError(f"{sentence}; make room and repeat the command") from error
            warnings.warn(f"{sentence}; training goes on without it", NotSavedWarning, stacklevel=4)

    def _begin(self, progress: Progress) -> None:
        self._last = time.monotonic()
        host = {
            "record": progress.record.arrays(),
            "trial": progress.slots.trial.astype(np.int64),
            "alive": progress.slots.alive.astype(np.uint8),
            "seconds": np.array([progress.clock.seconds]),
        }
        from_first(self._remove_incomplete)
        states = _numbered(jax.tree.leaves(progress.states))
        items = _Items(states=ocp.args.StandardSave(states), host=ocp.args.StandardSave(host))
        folder = self._folder / str(progress.step)
        self._saver.save(folder, items)
        self._saving = folder

    def _latest(self) -> int | None:
        step = last_step(self._folder)
        if step is None:
            return None
        try:
            expected = self._digest_file(step).read_text(errors="replace").strip()
            found = _digest(self._folder / str(step))
        except OSError as error:
            raise self._damaged(_one_line(error)) from error
        if found != expected:
            raise self._damaged(f"its sha256 is {found}, and was {expected}")
        return step

    def _damaged(self, how: str) -> DbtoolError:
        return DbtoolError(
            f"the checkpoint in {self._folder} is damaged ({how}); remove that folder, and the "
            "block is trained from its start"
        )

    def _complete(self) -> None:
        """Wait for the checkpoint that is written, if any, and let it take the place of others."""
        folder, self._saving = self._saving, None
        self._saver.wait_until_finished()
        if folder is None or not is_first():
            return
        write_whole(folder / IDENTITY_FILE, self._identity)
        digest = self._digest_file(folder.name)
        write_whole(digest, f"{_digest(folder)}\n".encode())
        for path in files_matching(self._folder, f"*{DIGEST_SUFFIX}"):
            if path != digest:
                path.unlink()
        self._remove_incomplete()

    def _remove_incomplete(self) -> None:
        """Remove what a kill or a full disk left, and checkpoints that no longer count."""
        for path in (Path(entry.path) for entry in entries(self._folder)):
            if path.suffix != DIGEST_SUFFIX and not self._digest_file(path.name).exists():
                # Threads of a save that failed may write on.
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()

    def _digest_file(self, step: int | str) -> Path:
        return self._folder / f"{step}{DIGEST_SUFFIX}"


_Items = ocp.args.Composite


def _numbered(leaves: list[Any]) -> dict[str, Any]:
    """Return the arrays of the states by their order in the tree, whose form the workload gives."""
    return {f"{number:04}": leaf for number, leaf in enumerate(leaves)}


def _digest(folder: Path) -> str:
    digest = hashlib.sha256()
    files = (Path(entry.path) for entry in walk(folder) if entry.is_file())
    for name, path in sorted((path.relative_to(folder).as_posix(), path) for path in files):
        digest.update(f"{sha256_of(path)}  {name}\n".encode())
    return digest.hexdigest()


def _one_line(error: Exception) -> str:
    message = " ".join(re.sub(r"\[tensorstore_spec='.*'\]", "", str(error)).split())
    return message if len(message) <= _MOST_OF_AN_ERROR else f"...{message[-_MOST_OF_AN_ERROR:]}"
