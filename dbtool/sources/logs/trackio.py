"""What trackio writes: a SQLite database a project, or fragments of JSON Lines in an inbox."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dbtool.core.files import open_file
from dbtool.sources.logs.log import LoggedRun, flat, long_rows, parse, settings_of
from dbtool.sources.logs.log import lines as lines_of
from dbtool.sources.logs.sqlite import has_tables, select

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    Logged = tuple[int, str, str, Any, dict[str, Any]]

_BEGINNING = (b'"kind":"metric"', b'"run_id":')
_NEWEST_FIRST = "SELECT run_id, run_name, step, metrics FROM metrics ORDER BY id"


def is_log(path: Path) -> bool:
    """Return whether a file is a project's database, or a fragment with metrics."""
    if path.suffix == ".db":
        return has_tables(path, {"metrics", "configs", "system_metrics"})
    if path.suffix != ".jsonl":
        return False
    with open_file(path) as file:
        beginning = file.read(1 << 12)
    return all(part in beginning for part in _BEGINNING)


def read(path: Path) -> Iterator[LoggedRun]:
    """Yield the runs of a project."""
    configs: dict[str, dict[str, Any]] = {}
    logged: list[Logged] = []
    if path.suffix == ".db":
        for run, config in select(path, "SELECT run_id, config FROM configs"):
            configs[run] = parse(config, path)
        found = select(path, _NEWEST_FIRST)
        logged = [
            (number, run, name, step, parse(text, path))
            for number, (run, name, step, text) in enumerate(found, start=1)
        ]
    else:
        for number, line in enumerate(lines_of(path), start=1):
            record = parse(line, path, number)
            if record.get("kind") == "metric":
                run = record.get("run_id") or record["run"]
                configs[run] = record.get("config") or configs.get(run, {})
                entry = number, run, record["run"], record["step"], record["metrics"]
                logged.append(entry)
    yield from _runs(logged, configs)


def _runs(logged: Iterable[Logged], configs: dict[str, dict[str, Any]]) -> Iterator[LoggedRun]:
    rows: dict[str, list[tuple[int, Any, str, Any]]] = {}
    names: dict[str, str] = {}
    for line, run, name, step, metrics in logged:
        names[run] = name
        values = flat(metrics, "/").items()
        rows.setdefault(run, []).extend((line, step, metric, value) for metric, value in values)
    for run, of_run in rows.items():
        given = {k: v for k, v in configs.get(run, {}).items() if not k.startswith("_")}
        # Another run may have the same name.
        shared = list(names.values()).count(names[run]) > 1
        name = f"{names[run]}/{run}" if shared else names[run]
        yield LoggedRun(name, long_rows(of_run), settings_of(given))
