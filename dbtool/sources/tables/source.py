"""Runs of other tools as a source."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from dbtool.core.contract import metric_columns
from dbtool.core.errors import DbtoolError, UsageError, counted, few_of
from dbtool.core.manifest import About
from dbtool.sources.tables.files import find_files
from dbtool.sources.tables.mapping import RunMapping, read_mapping
from dbtool.sources.tables.problems import Problems, shown
from dbtool.sources.tables.properties import properties_of, read_table_of_runs
from dbtool.sources.tables.runs import Files, Run, RunReader
from dbtool.sources.tables.studies import MeasuredRun, StudyRuns, by_study, new_shards

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dbtool.sources.base import Addition, NewShard
    from dbtool.sources.registry import TableFormat

# Few enough to read.
_MOST_NAMES = 10
# How many steps of a longer history tools keep by default: run.history() of Weights & Biases, the
# web interface of TensorBoard, and its readers of event files.
_WANDB = 500
_CAPS = (_WANDB, 1_000, 10_000)


@dataclass(frozen=True, slots=True)
class RunSource:
    """Runs as their mapping describes them; see `dbtool.sources.base.Source`.

    They become a release of their own. Runs that it already has change nothing, so files that have
    grown can be added again.

    Attributes:
        mapping: the mapping.
        release: the name under which they are stored.
        by_study: the runs with measurements.
        other_metrics: metrics that are kept under their own names.
        without_values: runs without a measurement, which are dropped.
        of_rows: columns that were read as the run's name though each row has another value.
    """

    mapping: RunMapping
    release: str
    by_study: tuple[StudyRuns, ...]
    other_metrics: tuple[str, ...]
    without_values: tuple[str, ...]
    of_rows: tuple[str, ...]

    @property
    def runs(self) -> list[MeasuredRun]:
        """List the runs with measurements."""
        return [run for study in self.by_study for run in study.runs]

    @property
    def about(self) -> About:
        """Return the mapping's description of the release."""
        given = self.mapping
        return About(
            release=self.release,
            title=given.title,
            licence=given.licence,
            citation=given.citation,
        )

    def studies(self, addition: Addition) -> list[NewShard]:
        """Return the studies that have runs which the release lacks.

        Raises:
            UsageError: the release has other measurements.
            RunsError: the release has a run with other contents.
        """
        held = addition.held.trials
        if held["name"].null_count or held["source"].null_count:
            raise UsageError(
                f"the release {self.release!r} holds other measurements than your own runs: choose "
                "another name with --release"
            )
        new = new_shards(self.by_study, self.mapping, addition.held)
        trials = sum(len(footer.trials) for footer, _ in new)
        addition.report.already_there += len(self.runs) - trials
        return new

    def sentences(self) -> Iterator[str]:
        """Yield what is odd about the runs, and what is dropped from them."""
        if self.of_rows:
            yield (
                f"{counted(len(self.runs), 'run')} of one step each, since "
                f"{' and '.join(self.of_rows)} differs in each row: is that what names the runs "
                "(files.run)?"
            )
        if self.without_values:
            names = few_of(self.without_values, _MOST_NAMES)
            yield f"left out, as they have no measurements: {names}"
        if self.other_metrics:
            names = few_of(self.other_metrics, _MOST_NAMES)
            yield f"kept in other_metrics under their own names: {names}"


def read_own_runs(
    paths: Sequence[Path],
    kind: TableFormat,
    mapping_path: Path,
    *,
    release: str | None = None,
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> RunSource:
    """Read the runs of another tool.

    Args:
        paths: files, folders, or patterns such as runs/**/metrics.csv.
        kind: the files' format.
        mapping_path: the mapping, which docs/your_own_runs.md describes.
        release: the name under which the runs are stored; None: the mapping's.
        on_progress: called after each file with its number and the number of all.

    Raises:
        UsageError: the mapping is invalid.
        RunsError: files are malformed or not as the mapping describes them; one sentence for each
            problem.
        DbtoolError: there are no runs.
    """
    mapping = read_mapping(mapping_path)
    name = release or mapping.release
    if name is None:
        raise UsageError(f"the mapping {mapping_path} names no release: give one with --release")
    problems = Problems()
    columns: set[str] = set()
    table: dict[str, Run] = {}
    with problems:
        table = read_table_of_runs(mapping, columns)
    has_table = not problems
    of_runs = None if mapping.runs is None else Path(mapping.runs.file)
    found = find_files(paths, kind, mapping.files.name, of_runs)
    files = RunReader(found, mapping, problems).read(kind, on_progress)
    if not has_table:
        # Otherwise each run would be reported as missing there.
        problems.refuse()
    columns |= files.columns
    if mapping.files.sampled is None and not problems:
        with problems:
            _refuse_sampled(files, mapping.files.steps.constant_times)
            if mapping.workload.goal is not None:
                _refuse_final(files)
    parts = files.values.partition_by("run", as_dict=True, include_key=False)
    measured = []
    for run in files.runs:
        before = len(problems)
        properties = properties_of(run, mapping, table, columns, problems)
        with problems:
            if (run.number,) in parts and len(problems) == before:
                values = _in_updates(run, parts[run.number,], properties["files"].get("times", 1))
                measured.append(MeasuredRun(run, properties, values))
    studies = by_study(measured, mapping.search_space, problems)
    problems.refuse()
    without = [run.name for run in files.runs if (run.number,) not in parts]
    without += table.keys() - {run.name for run in files.runs}
    if not studies:
        raise DbtoolError(f"{few_of([str(path) for path in paths], 3)}: no row tells of a run")
    others = sorted(set(files.values["metric"].unique()) - set(metric_columns()))
    return RunSource(mapping, name, tuple(studies), tuple(others), tuple(without), files.of_rows)


def _in_updates(run: Run, values: pl.DataFrame, times: int) -> pl.DataFrame:
    last = int(values.select(pl.col("step").max()).item())
    if last * times >= 2**63:
        raise run.first.error(None, f"run {shown(run.name)} has {times} steps in each of {last}")
    return values.with_columns(pl.col("step") * times)


def _refuse_final(files: Files) -> None:
    """Refuse runs with one step each, other than the first, as tables of final values have."""
    values = files.values
    each = values.select("run", "step").n_unique() == values["run"].n_unique()
    if values.is_empty() or not each or values["step"].min() == 0:
        return
    names = " and ".join(files.of_rows)
    instead = f", and {names}, which differs in each row, does name the runs" if names else ""
    raise files.runs[values["run"][0]].first.error(
        None,
        "each run has one step, as tables of final values have: when it came past a goal is not in "
        f"them; say files.sampled = true to take what there is{instead}",
    )


def _refuse_sampled(files: Files, unit: int) -> None:
    """Refuse histories that look sampled.

    They have exactly as many steps as a tool keeps, with gaps of different sizes between them. With
    Weights & Biases' 500 steps, even gaps are refused too, unless each step directly follows the
    one before, by one unit of updates.
    """
    # All steps of a run, and those of each metric.
    every = files.values.select("run", pl.lit(None, pl.String).alias("metric"), "step").unique()
    gaps = (
        pl.concat([every, files.values.select("run", "metric", "step")])
        .sort("step")
        .group_by("run", "metric")
        .agg(
            pl.len(),
            pl.col("step").diff().drop_nulls().n_unique().alias("gaps"),
            pl.col("step").diff().max().alias("most"),
        )
    )
    # Two kinds of gaps come from a first or last step that is out of line.
    uneven = pl.col("len").is_in(_CAPS) & (pl.col("gaps") > 2)
    apart = (pl.col("len") == _WANDB) & pl.col("metric").is_null() & (pl.col("most") > unit)
    sampled = gaps.filter(uneven | apart).sort("run", "len")
    if sampled.is_empty():
        return
    run, count = files.runs[sampled["run"][0]], sampled["len"][0]
    others = sampled["run"].n_unique() - 1
    raise run.first.error(
        None,
        f"the history of run {shown(run.name)}{f' and of {others:,} more' if others else ''} has "
        f"exactly {count:,} steps with gaps, as tools leave them of a longer one (run.history() of "
        "Weights & Biases does unless told otherwise; scan_history() leaves nothing out): steps to "
        "result would come too late; say files.sampled = false if nothing is missing, or true to "
        "take what there is",
    )
