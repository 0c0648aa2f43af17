"""The JSON lines of levanter's `json_logger`, alone or behind the prefix of a logger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbtool.core.files import open_file
from dbtool.sources.logs.log import LoggedRun, flat, lines, long_rows, parse, settings_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_BEGINNING = '{"tracker": "json_logger"'
_LOOKED_AT = 1 << 18


def is_log(path: Path) -> bool:
    """Return whether the beginning of a text log has a line of the tracker."""
    if path.suffix not in {".jsonl", ".log", ".txt", ".out", ".err"}:
        return False
    with open_file(path) as file:
        return _BEGINNING.encode() in file.read(_LOOKED_AT)


def read(path: Path) -> Iterator[LoggedRun]:
    """Yield the run of a file; a file that several runs were logged to has them one by one."""
    rows: list[tuple[int, object, str, object]] = []
    settings: dict[str, str] = {}
    for number, line in enumerate(lines(path), start=1):
        at = line.find(_BEGINNING)
        # A process that was killed leaves part of its last line.
        if at < 0 or not line.endswith("}"):
            continue
        record = parse(line[at:], path, number)
        if record.get("event") == "hparams":
            settings |= settings_of(record["hparams"])
        elif record.get("event") == "log" and record.get("step") is not None:
            values = flat(record["metrics"], "/").items()
            rows += ((number, record["step"], name, value) for name, value in values)
    yield LoggedRun(path.with_suffix(""), long_rows(rows), settings)
