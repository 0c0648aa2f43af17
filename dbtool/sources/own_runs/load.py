"""Loads own runs: reads the files, and adds what is new of them to a release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from dbtool.core.contract import metric_columns
from dbtool.core.errors import UsageError
from dbtool.core.manifest import About
from dbtool.core.writer import ReleaseWriter
from dbtool.sources.own_runs.mapping import read_mapping
from dbtool.sources.own_runs.problems import Problems, shown
from dbtool.sources.own_runs.properties import properties_of, read_table_of_runs
from dbtool.sources.own_runs.reading import read_files
from dbtool.sources.own_runs.sampling import refuse_final, refuse_sampled
from dbtool.sources.own_runs.sources import find_files
from dbtool.sources.own_runs.studies import MeasuredRun, StudyRuns, by_study, new_shards

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from dbtool.sources.own_runs.mapping import RunMapping
    from dbtool.sources.own_runs.reading import Run
    from dbtool.sources.own_runs.tables import Kind


@dataclass(frozen=True, slots=True)
class ReadRuns:
    """Runs that were read and found to be what their mapping says.

    Attributes:
        mapping: the mapping.
        release: the name under which they shall be stored.
        studies: the runs with measurements, by study.
        other_metrics: metrics that are kept under their own names.
        without_values: runs without a measurement, which are left out.
        of_rows: columns that were taken for the run's name though each row has another value.
    """

    mapping: RunMapping
    release: str
    studies: tuple[StudyRuns, ...]
    other_metrics: tuple[str, ...]
    without_values: tuple[str, ...]
    of_rows: tuple[str, ...]

    @property
    def runs(self) -> list[MeasuredRun]:
        """Those with measurements."""
        return [run for study in self.studies for run in study.runs]


@dataclass(frozen=True, slots=True)
class OwnRunsReport:
    """What became of runs.

    Attributes:
        read: the runs.
        studies: studies that have new trials.
        trials: trials that were added.
        measurements: measurements that were added.
        already_there: trials that were passed over, as the release holds them.
    """

    read: ReadRuns
    studies: int
    trials: int
    measurements: int
    already_there: int


def read_own_runs(
    paths: Sequence[Path],
    kind: Kind,
    mapping_path: Path,
    *,
    release: str | None = None,
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> ReadRuns:
    """Reads the runs of another tool.

    Args:
        paths: files, folders, or patterns such as runs/**/metrics.csv.
        kind: the files' format.
        mapping_path: the mapping, which docs/your_own_runs.md describes.
        release: the name under which the runs are stored; None: the mapping's.
        on_progress: called after each file with the number that is read and that of all.

    Raises:
        UsageError: the mapping says what cannot be.
        RunsError: files are malformed or not what the mapping says; a sentence a problem.
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
    files = read_files(find_files(paths, kind, mapping), kind, mapping, problems, on_progress)
    if not has_table:
        # Each run would be told to be missing there.
        problems.refuse()
    columns |= files.columns
    if mapping.files.sampled is None and not problems:
        with problems:
            refuse_sampled(files, mapping.files.steps.constant_times)
            if mapping.workload.goal is not None:
                refuse_final(files)
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
    others = sorted(set(files.values["metric"].unique()) - set(metric_columns()))
    return ReadRuns(mapping, name, tuple(studies), tuple(others), tuple(without), files.of_rows)


def _in_updates(run: Run, values: pl.DataFrame, times: int) -> pl.DataFrame:
    last = int(values.select(pl.col("step").max()).item())
    if last * times >= 2**63:
        raise run.first.error(None, f"run {shown(run.name)} has {times} steps in each of {last}")
    return values.with_columns(pl.col("step") * times)


def store_own_runs(folder: Path, read: ReadRuns) -> OwnRunsReport:
    """Adds runs to a release of their own, each study whole or not at all.

    Runs that are already there change nothing, so that files that have grown can be loaded again.

    Args:
        folder: the release folder, which is made where there is none.
        read: the runs.

    Raises:
        UsageError: the release holds other measurements.
        RunsError: a run is there with other contents; nothing is added.
        DbtoolError: the release could not be written; studies finished until then are there.

    Example:
        >>> store_own_runs(Path("my-sweep"), read_own_runs([history], "csv", mapping)).trials
        5
    """
    mapping = read.mapping
    about = About(
        release=read.release,
        title=mapping.title,
        licence=mapping.licence,
        citation=mapping.citation,
    )
    with ReleaseWriter(folder, about) as writer:
        held = writer.index.trials
        if held["name"].null_count or held["source"].null_count:
            raise UsageError(
                f"the release {read.release!r} holds other measurements than your own runs: choose "
                "another name with --release"
            )
        new = new_shards(read.studies, mapping, writer.index)
        for footer, _ in new:
            writer.refuse_clash(footer)
        shards = [writer.write(footer, [table]) for footer, table in new]
    trials = sum(len(shard.footer.trials) for shard in shards)
    return OwnRunsReport(
        read,
        studies=len(new),
        trials=trials,
        measurements=sum(shard.rows for shard in shards),
        already_there=len(read.runs) - trials,
    )
