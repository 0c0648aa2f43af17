"""Runs of other tools as a source."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import polars as pl
import pyarrow.compute as pc

from dbtool.core.contract import metric_columns
from dbtool.core.errors import DbtoolError, UsageError, few_of
from dbtool.core.manifest import About
from dbtool.sources.base import Addition, NewShard, OnProgress
from dbtool.sources.tables.files import find_files
from dbtool.sources.tables.histories import oddities, small_studies
from dbtool.sources.tables.mapping import RunMapping, Tables, read_mapping
from dbtool.sources.tables.properties import Run
from dbtool.sources.tables.runs import Read, RunReader
from dbtool.sources.tables.studies import StudyRuns, by_study, odd_runs, shards_of
from dbtool.store.table_files import FRAME, Notes, TableFormat
from dbtool.store.tables import as_table
from dbtool.store.texts import read_parts, text_frame

# Few enough to read.
_MOST_NAMES = 10


@dataclass(frozen=True, slots=True)
class RunSource:
    """Runs as their mapping describes them; see `dbtool.sources.base.Source`.

    They become a release of their own. Runs that it already has change nothing, so files that have
    grown can be added again. The sentences say what is odd about them, and what is dropped.
    """

    mapping: RunMapping
    by_study: tuple[StudyRuns, ...]
    sentences: tuple[str, ...]

    @property
    def runs(self) -> list[Run]:
        """List the runs with measurements."""
        return [run for study in self.by_study for run in study.runs]

    @property
    def about(self) -> About:
        """Return the mapping's description of the release."""
        given = self.mapping
        return About(
            release=given.release or "",
            title=given.title,
            licence=given.licence,
            citation=given.citation,
        )

    def studies(self, addition: Addition) -> list[NewShard]:
        """Return the studies with their runs, of which the release may have some.

        Raises:
            UsageError: the release has other measurements.
            RunsError: the release has a run with other contents.
        """
        held = addition.held.trials
        if held["name"].null_count or held["source"].null_count:
            raise UsageError(
                f"the release {self.mapping.release!r} holds other measurements than your own "
                "runs: choose another name with --release"
            )
        new = shards_of(self.by_study, self.mapping, addition.held)
        # Of this source's workloads alone.
        examples = _examples(self.by_study)
        held = held.filter(pc.field("workload").isin([name for name, *_ in examples]))
        steps = held.group_by(["workload", "batch_size"]).aggregate([("steps", "max")])
        rows = zip(*(steps[name].to_pylist() for name in steps.column_names), strict=True)
        told = small_studies([*examples, *rows])
        addition.report.notes += [each for each in told if each not in self.sentences]
        return new


def read_own_runs(
    paths: Sequence[Path],
    kind: TableFormat,
    mapping_path: Path,
    given: Tables | None = None,
    *,
    on_progress: OnProgress = lambda _done, _total: None,
) -> RunSource:
    """Read the runs of another tool.

    Args:
        paths: files, folders, or patterns such as runs/**/metrics.csv.
        kind: the files' format.
        mapping_path: the mapping, which docs/your_own_runs.md describes.
        given: more of it by table, which replaces what the file has.
        on_progress: called after each file with its number and the number of all.

    Raises:
        UsageError: the mapping is invalid.
        RunsError: files are malformed or not as the mapping describes them; one sentence for each
            problem.
        DbtoolError: there are no runs.
    """
    mapping = read_mapping(mapping_path, given)
    of_runs = None if mapping.runs is None else Path(mapping.runs.file)
    found, notes = find_files(paths, kind, mapping.files.name, of_runs), Notes()
    read = partial(read_parts, kind=kind, on_note=notes.of_file)
    return runs_of(found, mapping, read, notes, on_progress)


def read_frame(
    frame: object, mapping_path: Path, given: Tables, on_progress: OnProgress
) -> RunSource:
    """Read runs from a frame of Polars, pandas or Arrow; see `read_own_runs`."""
    mapping, notes = read_mapping(mapping_path, given), Notes()
    rows = text_frame(pl.DataFrame(pl.from_arrow(as_table("of runs", frame))), notes.add)
    return runs_of([FRAME], mapping, lambda _: [rows], notes, on_progress)


def runs_of(
    paths: Sequence[Path],
    mapping: RunMapping,
    read: Read,
    notes: Notes,
    on_progress: OnProgress = lambda _done, _total: None,
    *,
    are_logs: bool = False,
) -> RunSource:
    """Return the runs in files, whose rows a function reads as text, as a mapping describes them.

    Raises:
        RunsError, DbtoolError: as in `read_own_runs`.
    """
    files = RunReader(paths, mapping, notes, are_logs).read(read, on_progress)
    measured = [run for run in files.runs if len(run.values)]
    studies = by_study(measured, mapping.search_space)
    without = [run.name for run in (*files.runs, *files.absent) if run.values.is_empty()]
    if not studies:
        raise DbtoolError(f"{few_of([str(path) for path in paths], 3)}: no row tells of a run")
    odd = oddities(files, mapping, _examples(studies))
    sentences = [*notes.sentences(), *odd, *odd_runs(studies, mapping)]
    if without:
        names = few_of(without, _MOST_NAMES)
        sentences.append(f"left out, as they have no measurements: {names}")
    if others := sorted(set(files.values["metric"].unique()) - set(metric_columns())):
        names = few_of(others, _MOST_NAMES)
        sentences.append(f"kept in other_metrics under their own names: {names}")
    return RunSource(mapping, tuple(studies), tuple(sentences))


def _examples(studies: Iterable[StudyRuns]) -> list[tuple[str, int, int]]:
    """Return the workload, batch size and most steps of each study."""
    return [(*each.study.key, max(run.steps for run in each.runs)) for each in studies]
