"""`trainer_state.json`, which the Trainer of Hugging Face's transformers and its kin write."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dbtool.core.walk import entries, is_file
from dbtool.sources.logs.log import LoggedRun, content, flat, long_rows, parse
from dbtool.store.table_files import Position

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FILE = "trainer_state.json"
_CHECKPOINT = re.compile(r"checkpoint-(\d+)")
# Means over the whole training, and a schedule; not measurements of a step.
_NOT_METRICS = {"step", "epoch", "learning_rate", "train_loss", "total_flos"}


def is_log(path: Path) -> bool:
    """Return whether a file is the last state of a run; a later one repeats those before it."""
    return path.name == _FILE and path.parent == _latest(_folder(path))


def is_metric(name: str) -> bool:
    """Return whether what is logged under a name is measured at its step."""
    return name not in _NOT_METRICS and not name.endswith(("_runtime", "_per_second"))


def _folder(path: Path) -> Path:
    """Return the folder of a run, which may have checkpoints."""
    inside = _CHECKPOINT.fullmatch(path.parent.name)
    return path.parent.parent if inside else path.parent


def _latest(folder: Path) -> Path:
    """Return the folder of a run's last state: its own, else that of the last checkpoint."""
    if is_file(folder / _FILE):
        return folder
    numbers = (_CHECKPOINT.fullmatch(entry.name) for entry in entries(folder))
    steps = [int(match[1]) for match in numbers if match]
    there = [folder / f"checkpoint-{step}" for step in sorted(steps)]
    return max((each for each in there if is_file(each / _FILE)), key=there.index, default=folder)


def read(path: Path) -> Iterator[LoggedRun]:
    """Yield the run of a state; its steps count updates."""
    history = parse(content(path), path).get("log_history")
    if not isinstance(history, list):
        raise Position(path, 0).error(None, "it has no log_history, as the Trainer writes it")
    rows = (
        (number, entry["step"], name, value)
        for number, entry in enumerate(history, start=1)
        if isinstance(entry, dict) and "step" in entry
        for name, value in flat(entry, "/").items()
        if is_metric(name)
    )
    yield LoggedRun(_folder(path), long_rows(rows))
