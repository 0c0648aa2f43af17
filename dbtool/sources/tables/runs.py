"""Reads the values of runs from the files, in any order and format."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import polars as pl

from dbtool.core.contract import KEYS, OTHER_METRICS, is_share
from dbtool.core.errors import DbtoolError
from dbtool.sources.base import OnProgress
from dbtool.sources.numbers import COMMA, USE_POINTS, narrow_bits, respelled, transformed
from dbtool.sources.tables import histories
from dbtool.sources.tables.histories import FILE
from dbtool.sources.tables.mapping import MetricColumn, RunMapping
from dbtool.sources.tables.properties import (
    Cell,
    Run,
    TableOfRuns,
    read_properties,
    read_table_of_runs,
)
from dbtool.store.table_files import Notes, Position, Problems, RunsError, among, shown, stem
from dbtool.store.texts import LINE, read_document

Read: TypeAlias = Callable[[Path], Iterable[pl.DataFrame]]

# Names that a metric must not have.
_TAKEN = {*KEYS, OTHER_METRICS}
_KEYS = ["run", "metric", "step"]
_VALUES = {
    "run": pl.Int64,
    "metric": pl.String,
    "step": pl.Int64,
    "value": pl.Float64,
    "times": pl.Int64,
}
_UNITS = {"times": pl.Int64, "divide": pl.Int64}
_KINDS = {"column": pl.String, "metric": pl.String, "transform": pl.String, "plus": pl.Int64}
# Our columns beside those of the files: the run, the step as text, and its position. A column
# without a name is not read.
_RUN, _STEP, _NUMBER = "\0run", "\0step", "\0number"
# Texts that are turned into numbers at a time.
_MOST_TEXTS = 1_000_000
_OURS = {"", _RUN, _STEP, FILE, _NUMBER, LINE}


# By file, the cells in the files beside it.
Beside: TypeAlias = dict[int, list[tuple[str, Cell]]]


@dataclass(frozen=True, slots=True)
class Files:
    """The contents of the files.

    Attributes:
        runs: in the order in which they first appear; a value's run is its position among them.
        values: run, metric, step, value, and the updates in each unit of its steps; sorted, each
            step once.
        absent: runs of the table of runs that the files do not have.
    """

    runs: Sequence[Run]
    values: pl.DataFrame
    absent: Sequence[Run]


@dataclass(slots=True)
class RunReader:
    """A reader of files, maybe with parts of the same runs, as a mapping describes them.

    In tables NaN may stand for no value; in logs it was logged.
    """

    paths: Sequence[Path]
    mapping: RunMapping
    notes: Notes
    are_logs: bool = False
    problems: Problems = field(default_factory=Problems)

    def read(self, read: Read, on_progress: OnProgress) -> Files:
        """Read files with a function; report after each its number and the number of all.

        Raises:
            RunsError: files are malformed or not as the mapping describes them; one sentence for
                each problem.
        """
        table = TableOfRuns(set(), {})
        with self.problems:
            table = read_table_of_runs(self.mapping)
        has_table = not self.problems
        runs, values, stated = self._contents(read, table, on_progress)
        if not has_table:
            # Otherwise each run would be reported as missing there.
            self.problems.refuse()
        absent = table.runs.keys() - {run.key for run in runs}
        files = Files(runs, values, [run for key, run in table.runs.items() if key in absent])
        if not self.problems:
            with self.problems:
                histories.refuse_histories(files, self.mapping)
        # Runs share errors about what is said of them all, such as a missing column.
        for error in stated:
            self.problems.add(error)
        self.problems.refuse()
        for (number,), part in (
            values.drop("times").partition_by("run", as_dict=True, include_key=False).items()
        ):
            runs[number].values = part
        return files

    def _contents(
        self, read: Read, table: TableOfRuns, on_progress: OnProgress
    ) -> tuple[list[Run], pl.DataFrame, list[DbtoolError]]:
        """Return the runs, their values, and what is wrong with their properties."""
        files = self.mapping.files
        if not files.run_columns and files.metric not in files.parts:
            with self.problems:
                _refuse_one_name(self.paths)
        rows, beside = self._rows(read, on_progress)
        known = table.columns.union(*({column for column, _ in said} for said in beside.values()))
        rows = self._with_logged(rows, known)
        columns = set(rows.columns) - _OURS
        whole = not self.problems
        runs: list[Run] = []
        stated: list[DbtoolError] = []
        values = pl.DataFrame(schema=_VALUES)
        with self.problems:
            if len(rows):
                rows, runs = self._with_runs(rows)
                self._keep(rows, runs, beside)
                for run in runs:
                    stated += read_properties(run, self.mapping, table, columns | known)
                values = self._values(rows, runs)
        # Metrics of the long format are known only from sound rows.
        if whole and not (files.metric and self.problems):
            self._refuse_missing(columns, values)
        refuse, last = (files.repeated_steps == each for each in ("refuse", "last"))
        if files.lost_branches == "drop" and len(values):
            names = [run.name for run in runs]
            values = histories.without_lost(values, names, self.notes, anew=not refuse)
        values = values.sort(_KEYS, maintain_order=True)
        if refuse and not self.problems:
            self._refuse_repeated(values)
        kept = values.unique(_KEYS, keep="last" if last else "first", maintain_order=True)
        return runs, kept.select(*_VALUES), stated

    def _rows(self, read: Read, on_progress: OnProgress) -> tuple[pl.DataFrame, Beside]:
        """Return the rows of all files as text, null where empty, and what is beside each file."""
        pattern = self.mapping.files.pattern
        tables = [pl.DataFrame(schema=dict.fromkeys(self.mapping.files.parts, pl.String))]
        beside: Beside = {}
        for file, path in enumerate(self.paths):
            with self.problems:
                # A log may be in the folder of its run, or of a checkpoint there.
                named_by = [path, *path.absolute().parents[:2]] if self.are_logs else [path]
                named = next(filter(None, map(pattern.of_file, named_by)), None) if pattern else {}
                if named is None:
                    wanted = self.mapping.files.name
                    raise RunsError(f"{path} is not named as the mapping says, {wanted}")
                same_texts = {_RUN: stem(path), **named}
                beside[file] = self._beside(path)
                texts = [pl.lit(text or None).alias(name) for name, text in same_texts.items()]
                for part in read(path):
                    sampled = self.mapping.files.sampled
                    histories.refuse_export(path, part.columns, sampled=sampled)
                    tables.append(part.with_columns(*texts, pl.lit(file, pl.Int32).alias(FILE)))
            on_progress(file + 1, len(self.paths))
        rows = pl.concat(tables, how="diagonal").drop(_STEP, _NUMBER, strict=False)
        said = pl.col(pl.String).exclude(self.mapping.files.run_columns)
        empty = self.mapping.files.empty
        return rows.with_columns(pl.when(~said.is_in(empty)).then(said)), beside

    def _beside(self, path: Path) -> list[tuple[str, Cell]]:
        """Return the cells of the files beside a file; a missing file has none."""
        there = [path.parent / name for name in self.mapping.files.beside]
        return [
            (column, Cell(text, Position(each, 0)))
            for each in there
            if each.exists()
            for column, text in read_document(each).items()
            if text not in self.mapping.files.empty
        ]

    def _with_logged(self, rows: pl.DataFrame, known: Collection[str]) -> pl.DataFrame:
        """Return rows with metrics of the long format as the columns that are nowhere else."""
        metric, value = self.mapping.files.metric, self.mapping.files.value
        if metric not in rows.columns or value not in rows.columns:
            return rows
        wanted = self.mapping.property_columns.difference(known, rows.columns)
        name, text = pl.col(metric), pl.col(value)
        for each in sorted(wanted.intersection(rows[metric].unique())):
            said, other = pl.when(name == each), pl.when(name != each)
            rows = rows.with_columns(said.then(text).alias(each), other.then(text).alias(value))
        return rows

    def _with_runs(self, rows: pl.DataFrame) -> tuple[pl.DataFrame, list[Run]]:
        """Return the rows of runs, with the numbers of these, and the runs."""
        keys = self.mapping.files.run_columns or [_RUN]
        for column in keys:
            self._require(rows, column)
        rows = rows.with_columns(respelled(rows[column]) for column in keys)
        named = rows.unique(keys, keep="first", maintain_order=True).drop_nulls(keys)
        runs: dict[str, Run] = {}
        for each in named.select(FILE, LINE, *keys).iter_rows():
            run = Run(each[2:], self._position(*each[:2]))
            if "\0" in run.name:
                raise run.first.error(None, f"the run's name {shown(run.name)} has a NUL")
            known = runs.setdefault(run.name, run)
            if known is not run:
                reason = f"{' and '.join(map(shown, run.keys))} would be one run with "
                raise run.first.error(None, reason + " and ".join(map(shown, known.keys)))
        numbers = named.select(*keys).with_row_index(_NUMBER)
        rows = rows.join(numbers, on=keys, maintain_order="left")
        return rows.drop(_RUN).rename({_NUMBER: _RUN}), list(runs.values())

    def _keep(self, rows: pl.DataFrame, runs: Sequence[Run], beside: Beside) -> None:
        """Keep what files, and those beside them, say of their runs."""
        for file, number in rows.select(FILE, _RUN).unique(maintain_order=True).iter_rows():
            for column, cell in beside[file]:
                if column in self.mapping.property_columns:
                    with self.problems:
                        runs[number].keep(column, cell)
        for column in self.mapping.property_columns & set(rows.columns):
            said = rows.select(_RUN, FILE, LINE, pl.col(column).alias("text")).drop_nulls()
            said = said.unique([_RUN, "text"], keep="first", maintain_order=True)
            for number, file, line, text in said.iter_rows():
                with self.problems:
                    runs[number].keep(column, Cell(text, self._position(file, line)))

    def _values(self, rows: pl.DataFrame, runs: Sequence[Run]) -> pl.DataFrame:
        """Return the values of all metrics, with the position of each."""
        files = self.mapping.files
        self._require(rows, files.steps.column, empty=True)
        histories.refuse_calls(self.mapping, rows, _RUN)
        kept = [pl.col(_RUN, FILE, LINE), pl.col(files.steps.column).alias(_STEP)]
        if files.metric is not None and files.value is not None:
            self._require(rows, files.metric)
            self._require(rows, files.value, empty=True)
            long = rows.select(*kept, column=files.metric, text=files.value)
            parts = iter([long.drop_nulls("text")])
        else:
            parts = self._unpivoted(rows, kept)
        values = [values for part in parts for values in self._with_values(part)]
        if not values:
            return pl.DataFrame(schema=_VALUES)
        row = [FILE, LINE] if files.metric is None else ["run", "step"]
        found = self._with_steps(pl.concat(values), runs)
        return found if self.are_logs else histories.without_missing(found, row)

    def _unpivoted(self, rows: pl.DataFrame, kept: Sequence[pl.Expr]) -> Iterator[pl.DataFrame]:
        """Yield the texts of columns that may be metrics, many at a time, with their columns."""
        names = sorted(set(rows.columns) - _OURS - self.mapping.no_metrics)
        names = [name for name in names if not self._is_ignored(name)]
        at_once = max(1, _MOST_TEXTS // max(1, len(rows)))
        for first in range(0, len(names), at_once):
            some = rows.select(*kept, *names[first : first + at_once])
            # Polars refuses names that the columns have.
            long = some.unpivot(
                index=[_RUN, FILE, LINE, _STEP], variable_name="\0column", value_name="\0text"
            )
            yield long.rename({"\0column": "column", "\0text": "text"}).drop_nulls("text")

    def _is_ignored(self, column: str) -> bool:
        return column not in self.mapping.metric_of and self.mapping.ignores(column)

    def _metrics(self, texts: pl.DataFrame) -> dict[str, tuple[str, MetricColumn]]:
        """Return by column, or metric of the long format, what it becomes, without ignored ones."""
        mapped = self.mapping.metric_of
        taken = _TAKEN | {name for name, _ in mapped.values()}
        columns = [name for name in texts["column"].unique() if not self._is_ignored(name)]
        for column in taken.intersection(columns) - mapped.keys():
            first = texts.filter(pl.col("column") == column).head(1).drop("text")
            reason = f"the database has another {column}: rename it, or name it in files.ignore"
            self._refuse(first, column, reason)
        return {column: mapped.get(column, (column, MetricColumn(column))) for column in columns}

    def _with_values(self, texts: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Yield texts with the metrics that they become and their values, by kind of column."""
        plus = self.mapping.files.steps.plus
        kinds = [
            (column, name, source.transform, plus if source.plus is None else source.plus)
            for column, (name, source) in self._metrics(texts).items()
        ]
        of_column = pl.DataFrame(kinds, _KINDS, orient="row")
        texts = self._with_bits(texts.join(of_column, on="column", maintain_order="left"))
        alike = texts.partition_by("transform", "bits", as_dict=True, maintain_order=True)
        for (transform, bits), part in alike.items():
            found = part.with_columns(value=transformed(part["text"], transform, bits=bits))
            self._refuse_values(found, transform)
            yield found.drop("text", "column", "transform", "bits").drop_nulls("value")

    def _with_bits(self, texts: pl.DataFrame) -> pl.DataFrame:
        """Return texts with how many bits the floats of a run had in a column, null for 64."""
        if (given := self.mapping.files.float32) is not None:
            return texts.with_columns(bits=pl.lit(32 if given else None, pl.Int32))
        keys = [_RUN, "column"]
        bits = narrow_bits(texts.select(*keys, "text"))
        texts = texts.join(bits, on=keys, how="left", maintain_order="left")
        narrow = texts.drop_nulls("bits").sort(pl.col("text").str.len_bytes(), descending=True)
        longest = narrow.unique("column", keep="first", maintain_order=True)
        for column, text, width in longest.select("column", "text", "bits").sort("column").rows():
            short = transformed(pl.Series([text]), None, bits=width).item()
            self.notes.add(
                f"{column} has numbers of {width} bits, which are read as the shortest decimals, "
                f"such as {text} as {short} (files.float32 = false takes them as they are)"
            )
        return texts

    def _refuse_values(self, found: pl.DataFrame, transform: str | None) -> None:
        """Keep errors about values that are not numbers, or are not shares and have to be."""
        is_null, value = pl.col("value").is_null(), pl.col("value")
        shares = [name for name in found["metric"].unique() if is_share(name)]
        outside = pl.col("metric").is_in(shares) & value.is_finite() & ~value.is_between(0, 1)
        wrong = found.filter(is_null | outside).partition_by(
            "column", "metric", as_dict=True, maintain_order=True
        )
        for (column, name), rows in wrong.items():
            no_number = "{} is not a number; name what stands for no value in files.empty"
            if column not in self.mapping.metric_of:
                no_number += ", or what is not a metric in files.ignore"
            comma = pl.col("text").str.contains(COMMA)
            self._refuse(rows.filter(is_null, ~comma), column, no_number)
            self._refuse(rows.filter(is_null, comma), column, f"{{}} is not a number; {USE_POINTS}")
            turned = f" (as {name} by {transform})" if transform else ""
            reason = (
                f"{{}}{turned} is not a share from 0 to 1; give the column a transform such as "
            )
            self._refuse(rows.filter(~is_null), column, reason + '"x / 100"')

    def _with_steps(self, values: pl.DataFrame, runs: Sequence[Run]) -> pl.DataFrame:
        """Return values with their steps, without those that have none."""
        steps, keys = self.mapping.files.steps, [_STEP, "plus", *_UNITS]
        said = [run.properties["files.step"] for run in runs]
        units = pl.DataFrame(said, _UNITS)
        values = values.with_columns(each.gather(values[_RUN]).fill_null(1) for each in units)
        by_text = values.select(keys).drop_nulls().unique()
        numbers = [steps.step(*row) for row in by_text.iter_rows()]
        by_text = by_text.with_columns(pl.Series("step", numbers, pl.Int64))
        values = values.join(by_text, on=keys, how="left", maintain_order="left")
        wrong = values.filter(pl.col("step").is_null()).unique([FILE, LINE], maintain_order=True)
        wrong = wrong.with_columns(pl.col(_STEP).alias("text"))
        empty = pl.col("text").is_null()
        self._refuse(wrong.filter(empty).drop("text"), steps.column, "it is empty")
        reason = f"{{}}{steps} is not a step, a whole number from 0 to {2**63 - 1:,}"
        self._refuse(wrong.filter(~empty), steps.column, reason)
        return values.drop_nulls("step").drop("divide").rename({_RUN: "run"})

    def _require(self, rows: pl.DataFrame, column: str, *, empty: bool = False) -> None:
        """Refuse rows without a column or, unless they may be empty, without a text in it."""
        if column not in rows.columns:
            closest = among(column, set(rows.columns) - _OURS)
            reason = f"there is no column {shown(column)}; closest: {closest}"
            raise self._position(*rows.select(FILE, LINE).row(0)).error(None, reason)
        if not empty:
            nothing = rows.filter(pl.col(column).is_null()).select(FILE, LINE)
            self._refuse(nothing, column, "it is empty")

    def _refuse(self, wrong: pl.DataFrame, column: str, reason: str) -> None:
        """Keep errors about texts, which replace the braces in the reason."""
        where = [FILE, LINE, *({"text"} & set(wrong.columns))]
        errors = (
            self._position(file, line).error(column, reason.format(*map(shown, text)))
            for file, line, *text in wrong.select(where).iter_rows()
        )
        self.problems.add_all(errors, len(wrong))

    def _position(self, file: int, line: int) -> Position:
        return Position(self.paths[file], line)

    def _refuse_missing(self, columns: set[str], values: pl.DataFrame) -> None:
        # A column that exists and is empty throughout is not an error.
        is_long = self.mapping.files.metric is not None
        names = set(values["metric"]) if is_long else columns
        for column, (name, _) in self.mapping.metric_of.items():
            if (name if is_long else column) not in names:
                kind = "metric" if is_long else "column"
                reason = f"the files have no {kind} {shown(column)}, which metrics.{name} of the "
                reason += f"mapping names; closest: {among(column, names)}"
                self.problems.add(RunsError(reason))

    def _refuse_repeated(self, values: pl.DataFrame) -> None:
        """Refuse a step with two values of a metric; equal ones count as one."""
        first = values.unique(_KEYS, keep="first", maintain_order=True)
        others = values.join(first, on=_KEYS, suffix="_first", maintain_order="left")
        others = others.filter(pl.col("value") != pl.col("value_first"))
        anew = set(histories.begun_anew(values)) if len(others) else set()
        column_of = {name: column for column, (name, _) in self.mapping.metric_of.items()}
        for row in others.iter_rows(named=True):
            before = self._position(row[f"{FILE}_first"], row[f"{LINE}_first"])
            apart = "name every column that tells runs apart in files.run"
            if self.mapping.files.line is not None:
                apart = "give the forms in files.line more of the text that tells such lines apart"
                apart = "give each run a file of its own" if row["run"] in anew else apart
            reason = f"step {row['step']:,} is there with another value at {before}; {apart}, or "
            reason += 'choose one with files.repeated_steps = "first" or, where the run was '
            reason += 'started again, "last"'
            column = column_of.get(row["metric"], row["metric"])
            self.problems.add(self._position(row[FILE], row[LINE]).error(column, reason))


def _refuse_one_name(paths: Sequence[Path]) -> None:
    """Refuse files of one name where each file is a run."""
    first: dict[str, Path] = {}
    for path in paths:
        if first.setdefault(path.stem, path) is not path:
            raise RunsError(
                f"{first[path.stem]} and {path} would both be run {shown(path.stem)}: say "
                'which column names the run, as files.run = "…", or files.name = "{run}/…"'
            )
