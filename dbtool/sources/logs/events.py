"""TensorBoard's event files, a folder a run, with the settings of its HPARAMS plugin."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from dbtool.core.resources import libraries_of
from dbtool.sources.logs.log import METRIC, LoggedRun, content, long_rows
from dbtool.sources.logs.trainers import has_hparams, hparams
from dbtool.sources.tables.words import SPLIT_WORDS
from dbtool.store.table_files import Position

if TYPE_CHECKING:
    from collections.abc import Iterator

_MARK = ".tfevents."
# A record is the length of its content, a checksum of that, the content, and its checksum.
_LENGTH, _HEAD, _TAIL = struct.Struct("<Q"), 12, 4
# Lightning writes -1 where a module has no such metric.
_HP_METRIC = "hp_metric"
_NUMBERS = {1: "<f4", 2: "<f8", 3: "<i4", 9: "<i8"}
"""NumPy's types by those of TensorFlow."""


def is_tensorboard(path: Path) -> bool:
    """Return whether a file is one of events."""
    return _MARK in path.name


def read_tensorboard(path: Path) -> Iterator[LoggedRun]:
    """Yield the run of a file, and what its HPARAMS say.

    `add_hparams` writes a folder of its own, whose settings are those of the run above it, and
    `add_scalars` one for each of its curves. A folder named after a split, as Keras writes them, is
    that of its metrics.
    """
    logged: list[tuple[int, int, str, Any]] = []
    settings = dict(hparams(path.parent))
    for event in _events(path):
        for value in event.summary.value:
            if value.metadata.plugin_data.plugin_name == "hparams":
                settings |= _hparams(value.metadata.plugin_data.content)
            elif value.tag != _HP_METRIC and (found := _number(value)) is not None:
                logged.append((len(logged) + 1, event.step, value.tag, found))
    folder, is_lightning = path.parent, has_hparams(path.parent)
    if settings and not is_lightning and any(folder.parent.glob(f"*{_MARK}*")):
        # The last values once more, at a step that is not theirs.
        folder, logged = folder.parent, []
    rows = long_rows(logged)
    name, prefix = _place(folder, set(rows[METRIC]))
    rows = rows.with_columns((prefix + pl.col(METRIC)).alias(METRIC))
    yield LoggedRun(name, rows, settings, batches=is_lightning)


def _place(folder: Path, metrics: set[str]) -> tuple[Path, str]:
    """Return the folder of the run whose metrics are in a folder, and what precedes their names."""
    if len(metrics) == 1:
        [metric] = metrics
        # PyTorch's add_scalars writes into METRIC_CURVE, and tensorboardX's into METRIC/CURVE.
        begin = f"{metric.replace('/', '_').replace(' ', '_')}_"
        if folder.name.startswith(begin):
            return folder.parent, f"{folder.name.removeprefix(begin)}/"
        if folder.parent.as_posix().endswith(f"/{metric}"):
            return folder.parents[len(Path(metric).parts)], f"{folder.name}/"
    if folder.name.lower() in SPLIT_WORDS:
        return folder.parent, f"{folder.name}/"
    return folder, ""


def _events(path: Path) -> Iterator[Any]:
    """Yield the events of a file, up to one that a killed process left in part."""
    with libraries_of("logs", "reading event files needs"):
        from tensorboardX.proto.event_pb2 import Event
    from google.protobuf.message import DecodeError

    data, at = memoryview(content(path)), 0
    while at + _HEAD < len(data):
        (length,) = _LENGTH.unpack_from(data, at)
        end = at + _HEAD + length
        if end > len(data):
            break
        try:
            event = Event.FromString(bytes(data[at + _HEAD : end]))
        except DecodeError as error:
            reason = f"the record at byte {at:,} is not an event: it was cut short or altered"
            raise Position(path, 0).error(None, reason) from error
        yield event
        at = end + _TAIL


def _number(value: Any) -> Any:
    """Return the number of a scalar as NumPy's type has it; None for what is not a scalar.

    Printed, a 32-bit number is the shortest decimal that rounds to it: the one that was logged.
    """
    kind = value.WhichOneof("value")
    if kind == "simple_value":
        return np.float32(value.simple_value)
    tensor = value.tensor
    if kind != "tensor" or tensor.dtype not in _NUMBERS:
        return None
    lists = (tensor.float_val, tensor.double_val, tensor.int_val, tensor.int64_val)
    written = np.frombuffer(tensor.tensor_content, _NUMBERS[tensor.dtype])
    numbers = [*written, *(number for each in lists for number in each)]
    if len(numbers) != 1:
        return None
    return np.float32(numbers[0]) if tensor.dtype == 1 else numbers[0]


def _hparams(plugin_data: bytes) -> dict[str, str]:
    """Return the settings of a session, as texts."""
    from tensorboardX.proto.plugin_hparams_pb2 import HParamsPluginData

    found = HParamsPluginData.FromString(plugin_data).session_start_info.hparams
    kinds = {name: value.WhichOneof("kind") for name, value in found.items()}
    return {
        # TensorBoard has no whole numbers.
        name: str(given).removesuffix(".0") if kind == "number_value" else str(given)
        for name, kind in kinds.items()
        if kind and (given := getattr(found[name], kind)) is not None
    }
