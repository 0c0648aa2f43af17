"""The lines of an MLPerf log: `:::MLLOG {json}`, or `:::MLL time key: {json}` as in v0.6.

Example:
    >>> event = parse_line(':::MLLOG {"time_ms": 5, "key": "seed", "value": 3, "metadata": {}}')
    >>> event.key, event.value
    ('seed', 3)
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LINE = re.compile(r":::MLLOG\s*(\{.*)")
_LINE_BEFORE_V07 = re.compile(
    r":::MLP?L?(?:v[\d.]+)?\s+(?:\[?\w+\]?\s+)?(\d+\.\d+)\s+(?:\([^)]*\)\s+)?(\w+)(?::\s*(.*))?$"
)
_MARK = ":::MLP", ":::MLL"


class Event(msgspec.Struct, frozen=True):
    """One line of a log.

    Attributes:
        key: what the line gives, such as global_batch_size or eval_accuracy.
        value: its value.
        metadata: what the line says beside it.
        time_ms: when it was written, in milliseconds since 1970.
    """

    key: str
    value: Any = None
    metadata: dict[str, Any] | None = None
    time_ms: float = 0


class _Value(msgspec.Struct):
    value: Any = None
    metadata: dict[str, Any] | None = None


_event = msgspec.json.Decoder(Event, strict=False)
_value = msgspec.json.Decoder(_Value, strict=False)


def parse_line(line: str) -> Event | None:
    """Return the event of a line; None for a line of another kind.

    Raises:
        ValueError: the line is damaged.
    """
    if match := _LINE.search(line):
        return _event.decode(match[1])
    if match := _LINE_BEFORE_V07.search(line):
        written = _value.decode(match[3]) if match[3] else _Value()
        return Event(match[2], written.value, written.metadata, float(match[1]) * 1_000)
    if any(mark in line for mark in _MARK):
        raise ValueError("it has the mark of a log and not its form")
    return None


def runs_in(lines: Iterable[str]) -> Iterator[list[Event]]:
    """Yield the events of each run of a log; a second `run_start` begins another run.

    Raises:
        ValueError: a line is damaged; the message has its number.
    """
    setting: list[Event] = []
    run: list[Event] = []
    for number, line in enumerate(lines, start=1):
        try:
            event = parse_line(line)
        except (ValueError, msgspec.MsgspecError) as error:
            raise ValueError(f"line {number}: {error}") from error
        if event is None:
            continue
        if event.key == "run_start":
            if run:
                yield run
            run = [*setting, event]
        elif run:
            run.append(event)
        else:
            setting.append(event)
    yield run or setting
