"""Writes a first mapping for a folder of runs: what names and values suggest, and ? elsewhere."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dbtool.core.errors import UsageError
from dbtool.core.index import OWN_COLUMN
from dbtool.sources.numbers import number, whole_number
from dbtool.sources.own_runs import words
from dbtool.sources.own_runs.mapping import file_name_pattern
from dbtool.sources.own_runs.records import read_records
from dbtool.sources.own_runs.sources import files_below

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from dbtool.sources.own_runs.records import Kind

_MOST_FILES = 1_000
_MOST_ROWS = 5_000
_MOST_LETTERS = 100
_KINDS: dict[str, Kind] = {".csv": "csv", ".jsonl": "jsonl"}
_DOCUMENTS = {".json": "json", ".yaml": "yaml", ".yml": "yaml"}
_SEPARATORS = re.compile(r"([_=,]|(?<![0-9]e)-)")
_GOALS = [f"{split}_{name}" for split in ("val", "test", "train") for name in words.MEASURES]
_UNKNOWN = '"?"'


@dataclass(frozen=True, slots=True)
class Guess:
    """A first mapping.

    Attributes:
        mapping: as TOML.
        kind: the format of the files that it is for.
        files: how many there are.
    """

    mapping: str
    kind: Kind
    files: int


@dataclass(frozen=True)
class _Table:
    """The first rows of a file."""

    path: Path
    rows: list[dict[str, str]]
    columns: list[str]


@dataclass
class _Layout:
    """The columns of the histories by what they are.

    Attributes:
        step: that of the step.
        metric: that of the metric's name, in the long format.
        value: that of its value.
        name: the pattern of the files' names.
        parts: the columns that come from it.
        keys: those that name the run.
        properties: by column, the values that hold for whole runs.
        left_out: such with values that are too long, or differ within runs.
        lines: of the mapping's [files] and [runs].
    """

    step: str
    metric: str | None = None
    value: str | None = None
    name: str | None = None
    parts: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    properties: dict[str, list[str]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    lines: dict[str, list[str]] = field(default_factory=lambda: {"files": [], "runs": []})


def guess(folder: Path) -> Guess:
    """A first mapping for the runs in a folder: sound, or its errors say what to fill in.

    Args:
        folder: of CSV or JSON Lines files, with JSON or YAML files beside them, or a table of runs.

    Raises:
        UsageError: no file in it has a column that could be the step.
        RunsError: a file is malformed.
    """
    paths = itertools.islice((p for p in files_below(folder) if p.suffix in _KINDS), _MOST_FILES)
    tables = [_read(path, _KINDS[path.suffix]) for path in paths]
    histories = _histories(tables)
    if not histories:
        raise UsageError(
            f"no .csv or .jsonl file in {folder} has a column that could be the step: whole "
            f"numbers, named {', '.join(words.STEPS)}"
        )
    layout = _layout(histories, folder)
    runs = _runs(histories, layout)
    _read_beside(histories, layout)
    _read_table_of_runs([table for table in tables if table not in histories], runs, layout)
    lines = _mapping(histories, layout, folder)
    return Guess("\n".join(lines) + "\n", _KINDS[histories[0].path.suffix], len(histories))


def _read(path: Path, kind: Kind) -> _Table:
    columns: set[str] = set()
    records = itertools.islice(read_records(path, kind, columns), _MOST_ROWS)
    rows = [record.fields for record in records]
    return _Table(path, rows, [*dict.fromkeys(name for row in rows for name in row if name)])


def _histories(tables: Sequence[_Table]) -> list[_Table]:
    """The files of measurements: those with steps, and of several kinds the largest."""
    groups: dict[tuple[str, str], list[_Table]] = defaultdict(list)
    folders = Counter(table.path.name for table in tables)
    for table in tables:
        step = _named(words.STEPS, table.columns)
        if step and all(whole_number(row.get(step, "0")) is not None for row in table.rows):
            # One name in many folders is a run each; other files may lie beside it.
            alone = folders[table.path.name] == 1 or _is_scalar(table.columns)
            groups[table.path.suffix, "" if alone else table.path.name].append(table)
    return max(groups.values(), key=lambda group: sum(len(t.rows) for t in group), default=[])


def _is_scalar(columns: Sequence[str]) -> bool:
    """Whether a file holds one metric, as TensorBoard's web interface writes it."""
    return _named(words.VALUES, columns) is not None and not _named(words.METRICS, columns)


def _named(names: Sequence[str], columns: Sequence[str]) -> str | None:
    """The first column of one of the names."""
    known = {column.lower(): column for column in reversed(columns)}
    return next((known[name] for name in names if name in known), None)


def _layout(histories: Sequence[_Table], folder: Path) -> _Layout:
    """The layout of the files; the rows take in the parts of their files' names."""
    columns = histories[0].columns
    layout = _Layout(_named(words.STEPS, columns) or "")
    value, metric = _named(words.VALUES, columns), _named(words.METRICS, columns)
    if value and (metric or len(histories) > 1):
        layout.metric, layout.value = metric or "tag", value
    layout.name = _pattern(
        [table.path.relative_to(folder).as_posix() for table in histories],
        folder.resolve().name,
        "tag" if value and not metric else None,
    )
    pattern = None if layout.name is None else file_name_pattern(layout.name)
    for table in histories if pattern else ():
        found = pattern and pattern.fullmatch(table.path.resolve().as_posix())
        layout.parts = list(pattern.groupindex) if pattern else []
        for row in table.rows if found else ():
            row.update(found.groupdict() if found else {})
    if not layout.parts:
        layout.keys = [name for name in [_named(words.RUNS, columns)] if name]
    else:
        layout.keys = [part for part in layout.parts if part != layout.metric]
    return layout


def _pattern(paths: Sequence[str], above: str, first: str | None) -> str | None:
    """What differs in the paths of files as parts in braces, the first of which has a name."""
    if len(paths) == 1:
        return None
    levels = [path.split("/") for path in paths]
    if len({len(level) for level in levels}) > 1:
        names = {level[-1] for level in levels}
        return f"{above}/{{run:path}}/{names.pop()}" if len(names) == 1 else None
    used = [] if first is None else [first]
    texts = []
    for values in zip(*levels, strict=True):
        stems = [value.removesuffix(".csv").removesuffix(".jsonl") for value in values]
        end = values[0].removeprefix(stems[0])
        if first and len(set(stems)) > 1 and f"{{{first}}}" not in texts:
            texts.append(f"{{{first}}}{end}")
        else:
            texts.append(_level(stems, used) + end)
    return "/".join(texts)


def _level(values: Sequence[str], used: list[str]) -> str:
    """What differs in the names of folders or files, split at _ = , and -, as parts in braces."""
    if len(set(values)) == 1:
        return values[0]
    split = [_SEPARATORS.split(value) for value in values]
    tokens = [list(dict.fromkeys(each)) for each in zip(*split, strict=False)]
    even = len({len(each) for each in split}) == 1 and all(len(each) == 1 for each in tokens[1::2])
    text = ""
    for at, each in enumerate(tokens if even else [list(values)]):
        if len(each) == 1:
            text += each[0]
            continue
        before = tokens[at - 2] if even and at > 1 else []
        name = before[0] if len(before) == 1 and before[0].isidentifier() else "part"
        used.append(name if name not in {*used, "part"} else f"part_{len(used) + 1}")
        text += f"{{{used[-1]}}}"
    return text


def _runs(histories: Sequence[_Table], layout: _Layout) -> set[str]:
    """The names of the runs; sees which columns hold for whole runs."""
    rows = [row for table in histories for row in table.rows]
    taken = {layout.step, layout.metric, layout.value, *layout.keys}
    columns = [name for name in dict.fromkeys(c for row in rows for c in row) if name not in taken]
    if not layout.keys and len(histories) == 1:
        # Without a name, what stays while the steps go up is of the run.
        pairs = [
            (before, row)
            for before, row in itertools.pairwise(rows)
            if (number(row.get(layout.step, "")) or 0) > (number(before.get(layout.step, "")) or 0)
        ]
        layout.keys = [
            name
            for name in columns
            if all(before.get(name) == row.get(name) for before, row in pairs)
            and len({row.get(name) for row in rows}) > 1
        ]
        columns = [name for name in columns if name not in layout.keys]
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for table in histories:
        for row in table.rows:
            run = "/".join(row.get(key, "") for key in layout.keys) or table.path.stem
            for name in columns:
                if row.get(name):
                    found[run][name].append(row[name])
    for name in columns:
        of_runs = [each[name] for each in found.values() if each[name]]
        if all(len(set(each)) == 1 for each in of_runs) and any(len(each) > 1 for each in of_runs):
            layout.properties[name] = [each[0] for each in of_runs]
    for key in layout.keys:
        layout.properties[key] = list(dict.fromkeys(row[key] for row in rows if key in row))
    return set(found)


def _read_beside(histories: Sequence[_Table], layout: _Layout) -> None:
    """Sees what JSON and YAML files beside the histories say of the runs."""
    folders = {table.path.parent for table in histories}
    names = Counter(path.name for each in folders for path in each.iterdir())
    beside = [
        name
        for name in sorted(names)
        if name[name.rfind(".") :] in _DOCUMENTS and (names[name] > len(folders) / 2)
    ]
    rows: dict[str, list[str]] = defaultdict(list)
    for each in sorted(folders):
        seen: dict[str, str] = {}
        for path in (each / name for name in beside if (each / name).exists()):
            kind = "json" if path.suffix == ".json" else "yaml"
            for record in read_records(path, kind, set()):
                for name, text in record.fields.items():
                    if seen.setdefault(name, text) != text:
                        layout.left_out.append(name)
                    rows[name].append(text)
    if beside:
        layout.lines["files"].append(f"beside = {json.dumps(beside)}")
    columns = {name for table in histories for name in table.columns}
    _add(layout, {name: texts for name, texts in rows.items() if name not in columns})


def _read_table_of_runs(tables: Sequence[_Table], runs: set[str], layout: _Layout) -> None:
    """Looks for a table with a row a run, and sees what it says of them."""
    for table in tables:
        for column in table.columns:
            if runs and runs <= {row.get(column, "") for row in table.rows}:
                layout.lines["runs"] = [
                    f"file = {json.dumps(table.path.as_posix())}",
                    f"run = {json.dumps(column)}",
                ]
                rows: dict[str, list[str]] = defaultdict(list)
                for name, text in (pair for row in table.rows for pair in row.items()):
                    rows[name].append(text)
                _add(layout, {name: texts for name, texts in rows.items() if name != column})
                return


def _add(layout: _Layout, rows: Mapping[str, list[str]]) -> None:
    for name, texts in rows.items():
        if any(len(text) > _MOST_LETTERS or text.startswith("[") for text in texts):
            layout.left_out.append(name)
        layout.properties.setdefault(name, texts)
    for name in layout.left_out:
        layout.properties.pop(name, None)


def _mapping(histories: Sequence[_Table], layout: _Layout, folder: Path) -> list[str]:
    """The lines of the mapping."""
    metrics, ignored = _metrics(histories, layout)
    goal = next((name for name in _GOALS if any(m.startswith(f"{name} ") for m in metrics)), None)
    roles: dict[tuple[str, str], str] = {}
    for name in layout.properties:
        if (role := words.role(name)) and _fits(role, layout.properties[name]):
            roles.setdefault(role, name)
    text = f"column = {json.dumps(layout.step)}"
    step = json.dumps(layout.step)
    if "epoch" in layout.step.lower():
        step = f"{{ {text}, times = {_UNKNOWN} }} # ?: updates in an epoch, a number or a column"
    files = [f"step = {step}"]
    if layout.name:
        files.append(f"name = {json.dumps(layout.name)} # guessed; braces are columns, rename them")
    if layout.keys and layout.keys != ["run"] or not layout.parts and layout.keys:
        named = json.dumps(layout.keys[0] if len(layout.keys) == 1 else layout.keys)
        files.append(f"run = {named} # guessed: what names a run")
    if layout.metric:
        files += [f"metric = {json.dumps(layout.metric)}", f"value = {json.dumps(layout.value)}"]
    files += layout.lines["files"]
    if ignored:
        files.append(f"ignore = {json.dumps(ignored)}")

    def line(table: str, name: str, unknown: str = "") -> list[str]:
        column = roles.get((table, name))
        if column is None:
            return [f"{name} = {_UNKNOWN} # {unknown}"] if unknown else []
        mapped = ""
        if name == "status":
            mapped = ", ".join(
                f"{json.dumps(each)} = {json.dumps(words.STATUSES[each.lower()])}"
                for each in dict.fromkeys(layout.properties[column])
            )
            mapped = f", values = {{ {mapped} }}"
        seen = _examples(layout.properties[column])
        return [f"{name} = {{ column = {json.dumps(column)}{mapped} }} # {seen}"]

    names = Counter(words.plain(name) for name in layout.properties)
    settings = []
    for column, texts in layout.properties.items():
        if column in roles.values() or column in layout.keys and column in layout.parts[:0]:
            continue
        own = words.plain(column)
        if names[own] > 1 or own in OWN_COLUMN and any(number(each) is None for each in texts):
            own = column
        settings.append(f"{_key(own)} = {{ column = {json.dumps(column)} }} # {_examples(texts)}")
    name = re.sub(r"[^a-z0-9]+", "-", folder.resolve().name.lower()).strip("-") or "runs"
    return [
        f"# Guessed by `dbtool ingest --guess`: fill in each ?, look at the rest; see docs/your_own_runs.md.",
        f"release = {json.dumps(name)}",
        "",
        "[files]",
        *files,
        *(["", "[runs]", *layout.lines["runs"]] if layout.lines["runs"] else []),
        "",
        "[workload]",
        *line("workload", "dataset", 'such as "cifar_10", or a column as in { column = "…" }'),
        *line("workload", "model", 'such as "resnet_8", or a column'),
        *line("workload", "optimizer", 'such as "momentum", or a column'),
        f"metric = {json.dumps(goal) if goal else _UNKNOWN} # that of the goal",
        "# goal = 0.1 # without one, say it to dbtool steps",
        *line("workload", "train_examples"),
        "",
        "[study]",
        *line("study", "batch_size", "the global batch size: a number, or a column"),
        "",
        "[trial]",
        *line("trial", "status"),
        *line("trial", "seed"),
        "",
        "[metaparameters]",
        *line("metaparameters", "learning_rate"),
        *settings,
        *(
            f"# left out, too long or not the same throughout a run: {each}"
            for each in layout.left_out
        ),
        "",
        "[metrics] # guessed from their names; all others are kept under their own",
        *metrics,
    ]


def _fits(role: tuple[str, str], texts: Sequence[str]) -> bool:
    """Whether values can be what a column's name says."""
    match role:
        case (_, "status"):
            return all(text.lower() in words.STATUSES for text in texts)
        case ("workload", "dataset" | "model" | "optimizer"):
            return not any(re.search(r"[/\\*?\[\]]", text) for text in texts)
        case ("metaparameters", _):
            return all(number(text) is not None for text in texts)
    return all(whole_number(text) is not None for text in texts)


def _metrics(histories: Sequence[_Table], layout: _Layout) -> tuple[list[str], list[str]]:
    """The lines of [metrics], and what is no metric."""
    values: dict[str, list[str]] = defaultdict(list)
    taken = {layout.step, *layout.properties, *layout.keys, *layout.parts}
    for row in (row for table in histories for row in table.rows):
        if layout.metric and layout.value:
            values[row.get(layout.metric, "")].append(row.get(layout.value, ""))
            continue
        for name, text in row.items():
            if name and name not in taken:
                values[name].append(text)
    ignored = [
        name
        for name, texts in values.items()
        if words.TIMES.search(name.lower()) or any(number(text) is None for text in texts if text)
    ]
    found: dict[str, str] = {}
    for name in values.keys() - set(ignored):
        pass
    for name in [name for name in values if name not in ignored]:
        most = max(
            (x for text in values[name] if (x := number(text)) is not None and x < 1e300), default=0
        )
        if (known := words.metric(name, most)) and known[0] not in found:
            column, transform = known
            source = json.dumps(name)
            if transform:
                source = f"{{ column = {source}, transform = {json.dumps(transform)} }}"
            found[column] = f"{column} = {source} # {_examples(values[name])}"
    return list(found.values()), ignored


def _examples(texts: Iterable[str]) -> str:
    few = list(dict.fromkeys(texts))
    return ", ".join(few[:3]).replace("\n", " ") + (", …" if len(few) > 3 else "")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)
