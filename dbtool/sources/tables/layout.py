"""Recognizes the layout of a folder of runs from names and values."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TypeAlias

import polars as pl

from dbtool.core.errors import UsageError, joined
from dbtool.core.walk import entries, is_file
from dbtool.sources.numbers import same, whole_number
from dbtool.sources.tables import words
from dbtool.sources.tables.files import NamePattern, files_below
from dbtool.sources.tables.histories import refuse_export
from dbtool.store.table_files import (
    TABLE_FORMATS,
    Problems,
    TableFormat,
    ending,
    stem,
    table_format,
)
from dbtool.store.texts import EMPTY, LINE, read_document, read_parts

Tables: TypeAlias = Mapping[Path, pl.DataFrame]

_MOST_ROWS = 300_000
_LEAST_ROWS = 50
_SEPARATORS = re.compile(r"([_=,]|(?<![0-9]e)-)")
# No column of a file has this name.
_RUN = "\0"


@dataclass
class Layout:
    """The layout of the files in a folder of runs, as far as names and values show it.

    Attributes:
        files: how many files have measurements.
        rows: their first rows, as text, with the parts of the files' names.
        step, metric, value, name, beside: as in a mapping's `FilesTable`.
        keys: the columns that name the run.
        table: the table of runs, and its column that names them.
        run_texts: by column, the values that hold for whole runs.
        unread: names of files with properties that cannot be read.
        differing: columns whose values differ between files of a run.
        plus: 1 where steps are counted from 0.
        tests_are_counted: whether the steps of tests are not, as in PyTorch Lightning.
    """

    files: int
    rows: pl.DataFrame
    step: str
    metric: str | None = None
    value: str | None = None
    name: str | None = None
    keys: list[str] = field(default_factory=list)
    beside: list[str] = field(default_factory=list)
    table: tuple[Path, str] | None = None
    run_texts: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    differing: set[str] = field(default_factory=set)
    unread: list[str] = field(default_factory=list)
    plus: int = 0
    tests_are_counted: bool = False


def layout_of(folder: Path) -> tuple[Layout, TableFormat]:
    """Return the layout of the runs in a folder, and the format of their files.

    Raises:
        UsageError: no file in it has a column that could be the step, or a file is a chart.
    """
    paths = [path for path in files_below(folder) if table_format(path)]
    most = max(_LEAST_ROWS, _MOST_ROWS // max(1, len(paths)))
    problems = {path: Problems() for path in paths}
    tables = {path: _beginning_of(path, most, problems[path]) for path in paths}
    for path, rows in tables.items():
        refuse_export(path, rows.columns)
    histories = _histories(tables)
    if not histories:
        for each in problems.values():
            each.refuse()
        endings = joined((f".{each}" for each in TABLE_FORMATS), "or")
        raise UsageError(
            f"no {endings} file in {folder} has a column that could be the step: whole numbers, "
            "named step, global_step, iteration, update, epoch or the like; lines of text are read "
            "by `dbtool ingest --from text`"
        )
    first = next(iter(histories))
    is_one_name = len({path.name for path in histories}) == 1 < len(histories)
    for path, each in problems.items():
        # They are of the same kind, so that `ingest` would read them.
        is_alike = not is_one_name or path.name == first.name
        if is_alike and table_format(path) == table_format(first):
            each.refuse()
    layout = _layout(histories, folder)
    _add_offsets(layout)
    runs = _add_runs(layout)
    _add_files_beside(histories, layout)
    _add_table_of_runs({p: t for p, t in tables.items() if p not in histories}, runs, layout)
    return layout, table_format(first) or "csv"


def _beginning_of(path: Path, most: int, problems: Problems) -> pl.DataFrame:
    """Return the first rows of a file as text, null where empty; no rows if it cannot be read."""
    parts = [pl.DataFrame()]
    with problems:
        parts += islice(read_parts(path), most // 1_000 + 2)
    rows = pl.concat(parts, how="diagonal").head(most).drop("", LINE, strict=False)
    return rows.with_columns(pl.when(~pl.all().is_in(EMPTY)).then(pl.all()))


def _histories(tables: Tables) -> Tables:
    """Return the files of measurements: those with steps; of several kinds, the largest."""
    groups: dict[tuple[TableFormat | None, str], dict[Path, pl.DataFrame]] = defaultdict(dict)
    same = Counter(path.name for path in tables)
    for path, rows in tables.items():
        step = words.step_column(rows.columns)
        if step and all(whole_number(text) is not None for text in rows[step].drop_nulls()):
            # Files of one name in many folders are a run each; other files may be beside them.
            alone = same[path.name] == 1 or _is_scalar(rows.columns)
            groups[table_format(path), "" if alone else path.name][path] = rows
    return max(
        groups.values(), key=lambda group: sum(path.stat().st_size for path in group), default={}
    )


def _is_scalar(columns: Sequence[str]) -> bool:
    """Return whether a file has one metric, as TensorBoard's web interface writes it."""
    return bool(words.named(words.VALUES, columns)) and not words.named(words.METRICS, columns)


def _layout(histories: Tables, folder: Path) -> Layout:
    """Return the columns' roles, including those that name the run."""
    first = next(iter(histories.values()))
    scalar = _is_scalar(first.columns) and len(histories) > 1
    paths = [path.relative_to(folder).as_posix() for path in histories]
    name = _pattern(paths, folder.resolve().name, ["tag"] if scalar else [])
    pattern = NamePattern(name) if name else None
    parts = []
    for path, rows in histories.items():
        columns = {_RUN: stem(path), **((pattern and pattern.of_file(path)) or {})}
        parts.append(rows.with_columns(pl.lit(text).alias(key) for key, text in columns.items()))
    layout = Layout(len(parts), pl.concat(parts, how="diagonal"), "", name=name)
    layout.step = words.step_column(first.columns) or ""
    layout.metric = "tag" if scalar else words.named(words.METRICS, first.columns)
    layout.value = words.named(words.VALUES, first.columns) if layout.metric else None
    layout.keys = [key for key in (pattern.parts if pattern else ()) if key != layout.metric]
    run = words.named(words.RUNS, first.columns)
    if (
        run
        and (not name or any(each[run].n_unique() > 1 for each in parts if run in each.columns))
        and 2 * layout.rows[run].n_unique() <= len(layout.rows)
    ):
        layout.keys.append(run)
    return layout


def _pattern(paths: Sequence[str], above: str, first: list[str]) -> str | None:
    """Return a pattern with braces where paths differ; None where none can be written."""
    levels = [path.split("/") for path in paths]
    # A pattern ends as the names do, and would leave out those that end otherwise.
    if re.search("[{}]", "".join([above, *paths])) or len(set(map(ending, paths))) > 1:
        return None
    if len({len(level) for level in levels}) > 1:
        names = {level[-1] for level in levels}
        return f"{above}/{{run:path}}/{names.pop()}" if len(names) == 1 else None
    used: list[str] = []
    texts = [_level(values, first, used) for values in zip(*levels, strict=True)]
    return "/".join(texts) if used and "}{" not in "/".join(texts) else None


def _level(values: Sequence[str], first: list[str], used: list[str]) -> str:
    """Return one level of the pattern: names of folders or files, with braces where they differ.

    Names are split at _ = , and -. The first part takes the first name, if there is one.
    """
    if len(set(values)) == 1:
        return values[0]
    end = ending(values[0])
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


def _add_offsets(layout: Layout) -> None:
    """Record whether steps are counted from 0."""
    tests = [pl.col(name) for name in layout.rows.columns if "test" in words.split(name)]
    is_test = pl.any_horizontal(each.is_not_null() for each in tests) if tests else pl.lit(False)
    steps, of_tests = (
        {whole_number(text) or 0 for text in layout.rows.filter(rows)[layout.step].drop_nulls()}
        for rows in (~is_test, is_test)
    )
    if "epoch" in layout.step.lower():
        layout.plus = int(0 in steps)
    elif layout.step == words.CALLS:
        # Each call in turn.
        layout.plus = int(len(steps) > 1 and steps == set(range(len(steps))))
    else:
        # Such as 49, 99 and 149.
        layout.plus = int(len(steps) > 1 and math.gcd(*(each + 1 for each in steps)) > 1)
    layout.tests_are_counted = bool(layout.plus and of_tests - steps)


def _add_runs(layout: Layout) -> set[str]:
    """Return the names of the runs; record which columns hold for whole runs."""
    taken = {_RUN, layout.step, layout.metric, layout.value, *layout.keys}
    columns = [
        name
        for name in layout.rows.columns
        if name not in taken and not any(words.metrics(name, percent=False))
    ]
    if not layout.keys and layout.files == 1:
        # A run has a row for each step, so a property has at most as many values as runs.
        runs = len(layout.rows) / max(1, layout.rows[layout.step].n_unique())
        layout.keys = [name for name in columns if 1 < layout.rows[name].n_unique() <= runs]
    columns = list(dict.fromkeys([*columns, *layout.keys]))
    keys = [pl.col(key).fill_null("") for key in layout.keys] or [pl.col(_RUN)]
    rows = layout.rows.with_columns(pl.concat_str(keys, separator="/").alias(_RUN))
    groups = rows.group_by(_RUN, maintain_order=True)
    of_runs = pl.col(columns).drop_nulls()
    kinds, counts = groups.agg(of_runs.n_unique()), groups.agg(of_runs.len())
    firsts = groups.agg(of_runs.first())
    layout.rows = layout.rows.drop(_RUN)
    for name in columns:
        if kinds[name].max() == 1 and counts[name].cast(int).max() != 1:
            layout.run_texts[name] = firsts[name].drop_nulls().to_list()
    return set(map(same, firsts[_RUN]))


def _add_files_beside(histories: Tables, layout: Layout) -> None:
    """Record the properties in JSON and YAML files beside the histories."""
    folders = sorted({path.parent for path in histories})
    there = {entry.name for each in folders for entry in entries(each) if is_file(entry.path)}
    first: dict[tuple[Path, str], str] = {}
    for name in sorted(name for name in there if name.endswith((".json", ".yaml", ".yml"))):
        with (problems := Problems()):
            read = {each: read_document(each / name) for each in folders if (each / name).exists()}
            layout.beside.append(name)
            for each, fields in read.items():
                for column in [name for name in fields if name not in layout.rows.columns]:
                    layout.run_texts[column].append(fields[column])
                    if first.setdefault((each, column), fields[column]) != fields[column]:
                        layout.differing.add(column)
        if problems:
            layout.unread.append(name)


def _add_table_of_runs(tables: Tables, runs: set[str], layout: Layout) -> None:
    """Look for a table with a row for each run, and record its properties."""
    for path, rows in tables.items():
        for column in rows.columns:
            if runs <= set(map(same, rows[column].drop_nulls())):
                layout.table = path, column
                for name in rows.columns:
                    layout.run_texts[name] += rows[name].drop_nulls().to_list()
                return
