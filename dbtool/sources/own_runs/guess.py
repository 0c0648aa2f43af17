"""Looks at a folder of runs, and writes a first mapping of what names and values suggest."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dbtool.core.errors import UsageError
from dbtool.sources.numbers import whole_number
from dbtool.sources.own_runs import draft, words
from dbtool.sources.own_runs.layout import Layout, Table
from dbtool.sources.own_runs.mapping import file_name_pattern
from dbtool.sources.own_runs.records import Problems, read_document, read_records
from dbtool.sources.own_runs.sources import files_below

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dbtool.sources.own_runs.records import Kind

_MOST_ROWS = 300_000
_LEAST_ROWS = 50
_KINDS: dict[str, Kind] = {".csv": "csv", ".jsonl": "jsonl"}
_SEPARATORS = re.compile(r"([_=,]|(?<![0-9]e)-)")


@dataclass(frozen=True, slots=True)
class Guess:
    """A first mapping as TOML, the format of the files that it is for, and how many there are."""

    mapping: str
    kind: Kind
    files: int


def guess(folder: Path) -> Guess:
    """A first mapping for the runs in a folder: sound, or its errors say what to fill in.

    Args:
        folder: of CSV or JSON Lines files, with JSON or YAML files beside them, or a table of runs.

    Raises:
        UsageError: no file in it has a column that could be the step, or one is a chart.
    """
    paths = [path for path in files_below(folder) if path.suffix in _KINDS]
    tables = []
    for path in paths:
        with Problems():
            records = read_records(path, _KINDS[path.suffix], set())
            most = max(_LEAST_ROWS, _MOST_ROWS // len(paths))
            tables.append(Table(path, [each.fields for each in itertools.islice(records, most)]))
    histories = _histories(tables)
    if not histories:
        raise UsageError(
            f"no .csv or .jsonl file in {folder} has a column that could be the step: whole "
            f"numbers, named {', '.join(words.STEPS)}"
        )
    if any(name.endswith("__MIN") for name in histories[0].columns):
        raise UsageError(
            f"{histories[0].path} is a chart of Weights & Biases' web interface, which is sampled "
            "and has a column a run: export the whole history as docs/your_own_runs.md shows"
        )
    layout = _layout(histories, folder)
    runs = _see_runs(histories, layout)
    _see_beside(histories, layout)
    _see_table_of_runs([table for table in tables if table not in histories], runs, layout)
    mapping = draft.mapping_text(histories, layout, folder.resolve().name)
    return Guess(mapping, _KINDS[histories[0].path.suffix], len(histories))


def _histories(tables: Sequence[Table]) -> list[Table]:
    """The files of measurements: those with steps, and of several kinds the largest."""
    groups: dict[tuple[str, str], list[Table]] = defaultdict(list)
    same = Counter(table.path.name for table in tables)
    for table in tables:
        step = words.named(words.STEPS, table.columns)
        if step and all(whole_number(row.get(step, "0")) is not None for row in table.rows):
            # One name in many folders is a run each; files of another name may lie beside it.
            alone = same[table.path.name] == 1 or _is_scalar(table.columns)
            groups[table.path.suffix, "" if alone else table.path.name].append(table)
    sizes = {key: sum(t.path.stat().st_size for t in group) for key, group in groups.items()}
    return groups[max(sizes, key=sizes.__getitem__)] if sizes else []


def _is_scalar(columns: Sequence[str]) -> bool:
    """Whether a file holds one metric, as TensorBoard's web interface writes it."""
    return bool(words.named(words.VALUES, columns)) and not words.named(words.METRICS, columns)


def _layout(histories: Sequence[Table], folder: Path) -> Layout:
    """What the columns are; the rows take in the parts of their files' names."""
    columns = histories[0].columns
    layout = Layout(words.named(words.STEPS, columns) or "")
    scalar = _is_scalar(columns) and len(histories) > 1
    metric = "tag" if scalar else words.named(words.METRICS, columns)
    if metric:
        layout.metric, layout.value = metric, words.named(words.VALUES, columns)
    paths = [table.path.relative_to(folder).as_posix() for table in histories]
    layout.name = _pattern(paths, folder.resolve().name, ["tag"] if scalar else [])
    if layout.name:
        pattern = file_name_pattern(layout.name)
        layout.keys = [part for part in pattern.groupindex if part != layout.metric]
        for table in histories:
            parts = pattern.fullmatch(table.path.resolve().as_posix())
            for row in table.rows if parts else ():
                row.update(parts.groupdict() if parts else {})
    run = words.named(words.RUNS, columns)
    seen = [{row.get(run) for row in table.rows} for table in histories] if run else []
    several = max(map(len, seen), default=0) > 1
    if (
        run
        and (several or not layout.name)
        and 2 * len(set().union(*seen)) <= sum(len(table.rows) for table in histories)
    ):
        layout.keys.append(run)
    return layout


def _pattern(paths: Sequence[str], above: str, first: list[str]) -> str | None:
    """Where paths differ as parts in braces; None where they do not, or cannot be written so."""
    levels = [path.split("/") for path in paths]
    if re.search("[{}]", "".join([above, *paths])):
        return None
    if len({len(level) for level in levels}) > 1:
        names = {level[-1] for level in levels}
        return f"{above}/{{run:path}}/{names.pop()}" if len(names) == 1 else None
    used: list[str] = []
    texts = [_level(values, first, used) for values in zip(*levels, strict=True)]
    return "/".join(texts) if used and "}{" not in "/".join(texts) else None


def _level(values: Sequence[str], first: list[str], used: list[str]) -> str:
    """Where names of folders or files differ, split at _ = , and -, as parts in braces.

    Args:
        values: the names.
        first: of the first part, which is then taken from the list; or empty.
        used: takes the names of the parts.
    """
    if len(set(values)) == 1:
        return values[0]
    end = values[0][values[0].rfind(".") :] if values[0].endswith(tuple(_KINDS)) else ""
    split = [_SEPARATORS.split(value.removesuffix(end)) for value in values]
    even = len({len(each) for each in split}) == 1 and not first
    tokens = [list(dict.fromkeys(each)) for each in zip(*split, strict=False)]
    if not even or any(len(each) > 1 for each in tokens[1::2]):
        tokens = [[*values]]
    text = ""
    for at, each in enumerate(tokens):
        if len(each) == 1:
            text += each[0]
            continue
        before = tokens[at - 2][0] if at > 1 else ""
        name = first.pop() if first else before
        used.append(name if name.isidentifier() and name not in used else f"part_{len(used) + 1}")
        text += f"{{{used[-1]}}}"
    return text + end


def _see_runs(histories: Sequence[Table], layout: Layout) -> set[str]:
    """The names of the runs; sees which columns hold for whole runs."""
    rows = [row for table in histories for row in table.rows]
    taken = {layout.step, layout.metric, layout.value, *layout.keys}
    columns = [name for name in dict.fromkeys(c for row in rows for c in row) if name not in taken]
    if not layout.keys and len(histories) == 1:
        # A run has a row a step, so what it was has at most so many values as there are runs.
        runs = len(rows) / max(1, len({row.get(layout.step) for row in rows}))
        layout.keys = [name for name in columns if 1 < len({row.get(name) for row in rows}) <= runs]
    columns = [*dict.fromkeys([*columns, *layout.keys])]
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for table in histories:
        for row in table.rows:
            run = "/".join(row.get(key, "") for key in layout.keys) or table.path.stem
            for name in columns:
                if name and row.get(name):
                    found[run][name].append(row[name])
    for name in columns:
        of_runs = [each[name] for each in found.values() if each[name]]
        if all(len(set(each)) == 1 for each in of_runs) and any(len(each) > 1 for each in of_runs):
            layout.properties[name] = [each[0] for each in of_runs]
    return set(found)


def _see_beside(histories: Sequence[Table], layout: Layout) -> None:
    """Sees what JSON and YAML files beside the histories say of the runs."""
    taken = {name for table in histories for row in table.rows for name in row}
    folders = sorted({table.path.parent for table in histories})
    said: dict[tuple[Path, str], str] = {}
    names = (path.name for each in folders for path in each.iterdir() if path.is_file())
    for name in sorted(name for name in set(names) if name.endswith((".json", ".yaml", ".yml"))):
        with Problems():
            read = {each: read_document(each / name) for each in folders if (each / name).exists()}
            layout.beside.append(name)
            for each, record in read.items():
                for column, text in record.fields.items():
                    if column in taken:
                        continue
                    layout.properties[column].append(text)
                    if said.setdefault((each, column), text) != text:
                        layout.left_out.add(column)


def _see_table_of_runs(tables: Sequence[Table], runs: set[str], layout: Layout) -> None:
    """Looks for a table with a row a run, and sees what it says of them."""
    for table, column in ((each, column) for each in tables for column in each.columns):
        if runs <= {row.get(column, "") for row in table.rows}:
            layout.table = table.path, column
            for row in table.rows:
                for name, text in row.items():
                    layout.properties[name].append(text)
            return
