"""The checkpoints that a folder holds of blocks in training, read without JAX."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dbtool.core.walk import entries, files_matching

CHECKPOINT_PREFIX = ".checkpoint-"
_DIGITS = 16
DIGEST_SUFFIX = ".sha256"
IDENTITY_FILE = "block.json"
"""Lies in a checkpoint and holds the identity of its block."""


class NotSavedWarning(RuntimeWarning):
    """Something could not be saved, and training goes on without it."""


def checkpoint_name(identity: bytes) -> str:
    """Return the name of the folder of a block's checkpoints."""
    return f"{CHECKPOINT_PREFIX}{hashlib.sha256(identity).hexdigest()[:_DIGITS]}"


def last_step(folder: Path) -> int | None:
    """Return the step of the last whole checkpoint of a block; None if there is none."""
    steps = (int(path.stem) for path in files_matching(folder, f"*{DIGEST_SUFFIX}"))
    return max(steps, default=None)


def saved_blocks(folder: Path) -> Iterator[tuple[Any, int]]:
    """Yield the identity of each block that is saved in a folder, and at which step.

    Checkpoints that do not tell theirs are passed over: those of older versions of this package,
    and damaged ones, which are an error where their block goes on.
    """
    for entry in entries(folder):
        if entry.name.startswith(CHECKPOINT_PREFIX) and (step := last_step(Path(entry.path))):
            path = Path(entry.path) / str(step) / IDENTITY_FILE
            identity = path.read_bytes() if path.is_file() else b""
            if entry.name == checkpoint_name(identity):
                yield json.loads(identity), step
