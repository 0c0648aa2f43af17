"""Adds release folders and runs of other tools, with the checks and sentences of the command.

Installed packages add sources by entry points of the group `dbtool.sources`: the name that
`--from` gives, and a class that makes a `dbtool.sources.base.Source` from a list of paths.
"""

import importlib.metadata
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from dbtool.core.checks import require_whole
from dbtool.core.errors import DbtoolError, UsageError, counted, first_sentence, joined, unknown
from dbtool.core.files import expanded
from dbtool.core.footer import workload_names
from dbtool.core.index import Index
from dbtool.core.manifest import MANIFEST, About, Manifest, check_name, is_release, releases_in
from dbtool.core.own_code import OWN_PATHS, blaming_own_code
from dbtool.core.release import telling_of_change
from dbtool.core.shards import Shard
from dbtool.core.walk import is_file, is_folder, status_of
from dbtool.sources.base import (
    Addition,
    NewShard,
    OnMessage,
    OnProgress,
    Report,
    Source,
    StoredShard,
    add_source,
    conclude,
    where,
)
from dbtool.sources.logs import LOG_FORMATS, LogFormat
from dbtool.store.locations import folder_to_write, named_location
from dbtool.store.shard_files import read_whole, sound_shard
from dbtool.store.table_files import TABLE_FORMATS, table_format

if TYPE_CHECKING:
    from dbtool.sources.tables.source import RunSource

_ENTRY_POINTS = "dbtool.sources"
_FIRST_ROWS = 5


@dataclass(frozen=True)
class ReleaseSource:
    """A release folder and its manifest as a source; see `dbtool.sources.base.Source`."""

    folder: Path
    manifest: Manifest

    @property
    def about(self) -> About:
        """Return the release's description of itself."""
        return self.manifest.about

    def studies(self, addition: Addition) -> list[NewShard]:
        """Return the shards that the other folder lacks, checked byte by byte and row by row.

        Raises:
            ClashError: two shards disagree.
            DbtoolError: a shard is damaged.
        """
        report, listed = addition.report, self.manifest.shards
        new = [file for file in listed if status_of(report.folder / file.path) is None]
        paths = pa.array([file.path for file in listed], pa.string())
        report.already_there += pc.sum(pc.is_in(addition.held.trials["shard"], paths)).as_py() or 0
        shards = [sound_shard(self.folder, file) for file in new]
        Index.of(shards)
        return [(shard.footer, StoredShard(self.folder, shard)) for shard in shards]


def ingest(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | Any,
    into: str | os.PathLike[str] | None = None,
    *,
    source: str | None = None,
    mapping: str | os.PathLike[str] | None = None,
    workload: str | None = None,
    batch_size: int | None = None,
    release: str | None = None,
    on_progress: OnProgress = lambda _done, _total: None,
    on_message: OnMessage = lambda _sentence: None,
) -> list[Report]:
    """Add release folders, or runs of other tools, to your releases.

    What is already in the release changes nothing.

    Examples:
        dbtool.ingest("logs", workload="cifar_10/resnet_8/adam", batch_size=64)[0].trials
        dbtool.ingest("history.csv", source="csv", mapping="mapping.toml")[0].trials
        dbtool.ingest(frame, mapping="mapping.toml")[0].trials

    Args:
        paths: release folders or folders of them; the files of another tool, folders of such files
            or, with `source`, patterns such as `runs/**/metrics.csv`; or a frame of Polars, pandas
            or Arrow with the rows of such a file.
        into: the release folder to add to, or the folder of releases that contains it or will
            contain it; None: what DBTOOL_DB names, or your own releases.
        source: csv, jsonl, parquet, a tool such as tensorboard, or a name from an installed
            package; None: release folders, the tool whose logs are there, or a frame.
        mapping: the TOML file that describes the columns of tables, or what logs do not state; see
            docs/your_own_runs.md.
        workload: the runs' DATASET/MODEL/OPTIMIZER, maybe with a collection before it; None: as the
            mapping or the logs have it.
        batch_size: the runs' global batch size; None: as the mapping or the logs have it.
        release: the release that they are added to; None: a release folder's own name, or the
            mapping's.
        on_progress: called with how much was read or added, and with the total.
        on_message: called with each sentence that `dbtool ingest` prints, such as `print`.

    Returns:
        One report for each release.

    Raises:
        UsageError: there is nothing to add, or the mapping is wrong.
        DbtoolError: files are damaged or not as the mapping describes them. Of several releases the
            others are added; `on_message` reports why.
    """
    # Of Polars, pandas or Arrow; a frame that is not computed yet has only the other.
    is_frame = hasattr(paths, "__arrow_c_stream__") or hasattr(paths, "collect_schema")
    if is_frame:
        if source is not None or mapping is None:
            raise UsageError(
                "a frame needs mapping=FILE, which says what the columns are, no source"
            )
    else:
        paths = found = _listed(paths)
        source = source or tool_of(found)
        if source is None:
            options = {"--map": mapping, "--workload": workload, "--batch-size": batch_size}
            _require_no_options(found, options)
            return _add_releases(found, into, release, on_progress, on_message)
    opened = open_source(
        paths,
        source,
        mapping,
        release=release,
        workload=workload,
        batch_size=batch_size,
        on_progress=on_progress,
        on_message=on_message,
    )
    about = opened.about
    if release is not None:
        about = msgspec.structs.replace(about, release=release)
    folder = folder_to_write(into, about.release)
    # Own runs have been read.
    progress = {"on_progress": on_progress} if source in _installed() else {}
    with telling_of_change(folder, on_message), blaming_own_code():
        report = add_source(opened, folder, about=about, **progress)
        return [conclude(report, report.added(), on_message)]


def _listed(paths: Any) -> list[Path]:
    """Return the paths that were given, one or several."""
    given = [paths] if isinstance(paths, str | os.PathLike) else paths
    if isinstance(given, Iterable):
        given = list(given)
        if all(isinstance(path, str | os.PathLike) for path in given):
            return [expanded(path) for path in given]
    raise UsageError(
        f"{type(paths).__name__} is no path: give files or folders, or a frame of Polars, pandas "
        "or Arrow, such as polars.DataFrame(rows)"
    )


def _require_no_options(paths: Iterable[Path], options: Mapping[str, object]) -> None:
    """Raise an error for an option that describes another tool's files, where none is named."""
    from dbtool.sources.tables.files import files_below, require_there

    given = [option for option, value in options.items() if value is not None]
    if given:
        for path in paths:
            require_there(path)
            if is_folder(path) and any(each.suffix == ".wandb" for each in files_below(path)):
                raise UsageError(
                    f"{path} holds logs of Weights & Biases in a form of its own: sync them, and "
                    "export the history as docs/your_own_runs.md shows"
                )
        raise _needs_source(given[0])


def preview(source: Source) -> tuple[pa.Table, pa.Table | None, str]:
    """Return what would be stored: the first trials and measurements, and a sentence of counts."""
    index, measurements, rows = Index(), None, 0
    with blaming_own_code():
        for footer, tables in source.studies(Addition(Report(source.about.release, Path()))):
            index.add(Shard("", "", 0, footer))
            for table in tables:
                measurements = table.slice(0, _FIRST_ROWS) if measurements is None else measurements
                rows += len(table)
    columns = ["workload", "batch_size", "trial_id", "status", "steps", "name", "metaparameters"]
    trials = index.trials.slice(0, _FIRST_ROWS).select(columns)
    trials = trials.rename_columns(["run" if name == "name" else name for name in columns])
    found = f"found {counted(len(index.trials), 'run')} of "
    found += f"{counted(len(index.studies), 'study', 'studies')} with "
    found += f"{counted(rows, 'measurement')}; the first are shown, and nothing was stored"
    return trials, measurements, found


def open_source(
    paths: list[Path] | Any,
    name: str | None,
    mapping: str | os.PathLike[str] | None,
    *,
    release: str | None = None,
    workload: str | None = None,
    batch_size: int | None = None,
    on_progress: OnProgress,
    on_message: OnMessage,
) -> Source:
    """Open the files of another tool, or a frame; see `dbtool.ingest`.

    Raises:
        UsageError: nothing names a source, or it does not take an argument.
        DbtoolError: files are damaged or not as the mapping describes them.
    """
    if isinstance(paths, list) and name is None:
        raise _needs_source("--dry-run")
    given: dict[str, Any] = {}
    if release is not None:
        check_name(release)
        given["release"] = release
    if workload is not None:
        given["workload"] = workload_names(workload, "--workload")
    if batch_size is not None:
        given["study"] = {"batch_size": require_whole("--batch-size", batch_size)}
    if name in _installed():
        if mapping is not None or given.keys() - {"release"}:
            option = "--map" if mapping is not None else "--workload or --batch-size"
            raise UsageError(f"--from {name} takes no {option}: its files say what they hold")
        entry = _installed()[name]
        try:
            found: Callable[[Sequence[Path]], Source] = entry.load()
        except Exception as error:
            package = entry.dist.name if entry.dist else entry.module
            raise DbtoolError(
                f"{package}: {type(error).__name__}: {first_sentence(error)}; `pip uninstall "
                f"{package}` goes on without it"
            ) from error
        if not entry.module.startswith("dbtool."):
            OWN_PATHS.add(str(sys.modules[entry.module].__file__))
        with blaming_own_code():
            return found(paths)
    path = None if mapping is None else expanded(mapping)
    runs = _reader(paths, name, path)(given=given, on_progress=on_progress)
    for sentence in runs.sentences:
        on_message(sentence)
    return runs


def _reader(
    paths: list[Path] | Any, name: str | None, mapping: Path | None
) -> "Callable[..., RunSource]":
    """Return the function that reads runs from a frame, tables or logs."""
    if name in LOG_FORMATS:
        from dbtool.sources.logs.source import read_logs

        return partial(read_logs, paths, name, mapping)
    from dbtool.sources.tables.source import read_frame, read_own_runs

    if name is not None and name not in TABLE_FORMATS:
        raise unknown("source", name, source_names(), "dbtool ingest --help")
    if mapping is None:
        raise UsageError("--from needs --map FILE, which says what the columns are")
    if name is None:
        return partial(read_frame, paths, mapping)
    for path in paths:
        form = table_format(path)
        if form not in {None, name}:
            raise UsageError(f"{path} is not {name} by its ending: give --from {form}")
        if form is None and is_file(path) and (tool := tool_of([path])):
            raise UsageError(f"{path} is not {name}: give --from {tool}")
    return partial(read_own_runs, paths, name, mapping)


def source_names() -> list[str]:
    """List the names that `--from` takes: formats of tables, tools, and installed sources."""
    return [*TABLE_FORMATS, *LOG_FORMATS, *_installed()]


def _installed() -> dict[str, importlib.metadata.EntryPoint]:
    """Return the sources of installed packages by name."""
    return {entry.name: entry for entry in importlib.metadata.entry_points(group=_ENTRY_POINTS)}


def tool_of(paths: Sequence[Path]) -> LogFormat | None:
    """Return the tool whose logs are in paths; None for releases, and where there are none.

    Raises:
        UsageError: several tools wrote logs there.
    """
    there = [path for path in paths if status_of(path) is not None]
    if any(is_release(path) or releases_in(path) for path in there):
        return None
    from dbtool.sources.logs.source import detected

    return detected(there)


def _needs_source(option: str) -> UsageError:
    return UsageError(
        f"{option} describes logs, and none of a tool was recognised there: name their kind with "
        f"--from, such as {_table_sources()}; a release folder names itself"
    )


def _table_sources() -> str:
    """Return the names that only `--from` gives: csv, jsonl or parquet."""
    return joined([*TABLE_FORMATS, *sorted(_installed())], "or")


def _add_releases(
    paths: Sequence[Path],
    into: str | os.PathLike[str] | None,
    release: str | None,
    on_progress: OnProgress,
    on_message: OnMessage,
) -> list[Report]:
    folders = [folder for path in paths for folder in _release_folders(path)]
    reports = []
    for folder in folders:
        try:
            source = ReleaseSource(folder, read_whole(folder))
            about = source.about
            if release is not None:
                about = msgspec.structs.replace(about, release=release)
            target = folder_to_write(into, about.release)
            with telling_of_change(target, on_message):
                report = add_source(source, target, about=about, on_progress=on_progress)
                added = report.added(f"{counted(report.shards, 'shard')} with ")
                for sentence in (added, *report.notes):
                    on_message(sentence)
            reports.append(report)
        except DbtoolError as error:
            if len(folders) == 1:
                raise
            on_message(f"refused {folder}: {error}")
    if reports:
        on_message(where(reports))
    if refused := len(folders) - len(reports):
        count = f"{refused} of {counted(len(folders), 'release')}"
        raise DbtoolError(f"refused {count}, as told above")
    return reports


def _release_folders(path: Path) -> Sequence[Path]:
    try:
        return named_location(path, "PATH").folders
    except UsageError as error:
        if path.name == MANIFEST or not path.exists():
            raise
        guess = path if path.is_dir() else path.parent
        raise UsageError(
            f"{path} is not a release folder, nor a folder of them or of logs of a known tool; for "
            f"tables give --from {_table_sources()}, and --map FILE, which `dbtool ingest --guess "
            f"{shlex.quote(str(guess))}` begins"
        ) from error
