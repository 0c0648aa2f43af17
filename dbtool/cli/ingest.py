"""The command that adds release folders, and runs of other tools, to the user's releases."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dbtool.cli.bars import bar
from dbtool.cli.messages import few_of, tell, tell_where, telling_unpublished
from dbtool.cli.options import Destination
from dbtool.cli.view import View
from dbtool.core.errors import DbtoolError, UsageError, counted
from dbtool.core.manifest import MANIFEST, check_name, is_release, read_manifest
from dbtool.store.sources import as_url, folder_to_write, named_source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dbtool.sources.own_runs.load import ReadRuns

_KINDS = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
# What a person can take in.
_MOST_NAMES = 10
_FIRST_ROWS = 5


def command(
    path: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH",
            help="Release folders, or folders of them; with --from, the files of another tool, "
            "folders of such files, or patterns such as 'runs/**/metrics.csv'.",
        ),
    ],
    *,
    db: Destination = None,
    from_: Annotated[
        Literal["csv", "jsonl", "parquet"] | None,
        typer.Option(
            "--from",
            metavar="csv|jsonl|parquet",
            help="Take learning curves of another tool from CSV, JSON Lines or Parquet.",
        ),
    ] = None,
    map_: Annotated[
        Path | None,
        typer.Option(
            "--map",
            metavar="FILE",
            help="With --from: a TOML file that says what the columns are; see "
            "docs/your_own_runs.md.",
        ),
    ] = None,
    release: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="With --from: the name under which the runs are stored; without it the mapping's.",
        ),
    ] = None,
    guess: Annotated[
        bool,
        typer.Option(
            "--guess",
            help="Print a first mapping for the runs in a folder, with ? where you have to say "
            "more, and store nothing.",
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="With --from: show how many runs there are and the first rows as they would be "
            "stored, and store nothing.",
        ),
    ] = False,
) -> None:
    """Add release folders, or runs of other tools, to your releases.

    What is already there changes nothing, so an interrupted load goes on when the same command is
    given again. A release that is damaged, or that disagrees with what is there, is refused and
    named; the others go in. Runs of other tools become a release of their own; where files are not
    what their mapping says, nothing is stored. --guess writes a first mapping.

    Example: dbtool ingest history.csv --from csv --map mapping.toml
    """
    if guess:
        if from_ or map_ or release or dry_run:
            raise UsageError("--guess takes a folder and no other option")
        _guess(path)
        return
    if from_ is not None and map_ is not None:
        _load_own_runs(path, from_, map_, release, db, dry_run=dry_run)
        return
    if from_ is not None:
        raise UsageError("--from needs --map FILE, which says what the columns are")
    if map_ is not None or release is not None or dry_run:
        given = "--map" if map_ else "--release" if release else "--dry-run"
        raise UsageError(
            f"{given} needs --from csv, jsonl or parquet; a release folder names itself"
        )
    _add_releases(path, db)


def _add_releases(paths: list[Path], db: str | None) -> None:
    from dbtool.release.add import add_release

    folders = [folder for path in paths for folder in _release_folders(path)]
    refused, written = 0, []
    for folder in folders:
        try:
            into = folder_to_write(db, read_manifest(folder).release)
            with telling_unpublished(into), bar("adding shards") as on_progress:
                added = add_release(folder, into, on_progress=on_progress)
                tell(
                    f"added {counted(added.shards, 'shard')} with "
                    f"{counted(added.trials, 'trial')} and "
                    f"{counted(added.measurements, 'measurement')} to {added.release}; "
                    f"{counted(added.already_there, 'shard')} already there"
                )
            written.append(into)
        except DbtoolError as error:
            if len(folders) == 1:
                raise
            refused += 1
            tell(f"refused {folder}: {error}")
    tell_where(written)
    if refused:
        raise DbtoolError(f"refused {refused} of {counted(len(folders), 'release')}, as told above")


def _release_folders(path: Path) -> "Sequence[Path]":
    if url := as_url(path):
        raise UsageError(f"{url} is a URL: take it to this machine with `dbtool pull {url}` first")
    try:
        return named_source(path, "PATH").folders
    except UsageError as error:
        if path.name == MANIFEST or not path.exists():
            raise
        guess = path if path.is_dir() else path.parent
        raise UsageError(
            f"{path} is no release folder, nor a folder of them; for runs of another tool give "
            "--from csv, jsonl or parquet, and --map FILE, which `dbtool ingest --guess "
            f"{guess}` begins"
        ) from error


def _load_own_runs(
    paths: list[Path],
    kind: Literal["csv", "jsonl", "parquet"],
    mapping: Path,
    release: str | None,
    db: str | None,
    *,
    dry_run: bool,
) -> None:
    from dbtool.sources.own_runs.load import read_own_runs, store_own_runs

    if release is not None:
        check_name(release)
    for path in paths:
        told = _KINDS.get(path.suffix.lower())
        if told not in {None, kind}:
            raise UsageError(f"{path} is not {kind} by its ending: give --from {told}")
    with bar("reading files", "files") as on_progress:
        read = read_own_runs(paths, kind, mapping, release=release, on_progress=on_progress)
    if not read.runs:
        raise DbtoolError(f"{few_of([str(path) for path in paths], 3)}: no row tells of a run")
    if read.of_rows:
        tell(
            f"{counted(len(read.runs), 'run')} of one step each, since "
            f"{' and '.join(read.of_rows)} differs in each row: is that what names the runs "
            "(files.run)?"
        )
    if read.without_values:
        names = few_of(read.without_values, _MOST_NAMES)
        tell(f"left out, as they have no measurements: {names}")
    if read.other_metrics:
        names = few_of(read.other_metrics, _MOST_NAMES)
        tell(f"kept in other_metrics under their own names: {names}")
    if dry_run:
        _show(read)
        return
    into = folder_to_write(db, read.release)
    with telling_unpublished(into):
        report = store_own_runs(into, read)
        tell(
            f"added {counted(report.trials, 'trial')} and "
            f"{counted(report.measurements, 'measurement')} to {read.release}; "
            f"{counted(report.already_there, 'trial')} already there"
        )
    tell_where([into])


def _show(read: "ReadRuns") -> None:
    """Prints what would be stored: the number of runs, and the first trials and measurements."""
    import pyarrow as pa

    from dbtool.cli.options import Format
    from dbtool.cli.output import print_table
    from dbtool.core.footer import as_json
    from dbtool.core.index import Index
    from dbtool.sources.own_runs.studies import new_shards

    shards = new_shards(read.studies, read.mapping, Index())
    trials = [
        {
            "workload": footer.study.workload.workload,
            "batch_size": footer.study.batch_size,
            "trial_id": trial.trial_id,
            "status": trial.status,
            "steps": trial.steps,
            "run": trial.name,
            "metaparameters": as_json(trial.metaparameters),
        }
        for footer, _ in shards
        for trial in footer.trials
    ]
    if trials:
        print_table(pa.Table.from_pylist(trials[:_FIRST_ROWS]), Format.TABLE, view=View(wide=True))
        typer.echo()
        print_table(shards[0][1].slice(0, _FIRST_ROWS), Format.TABLE, view=View(wide=True))
    rows = sum(len(rows) for _, rows in shards)
    tell(
        f"found {counted(len(read.runs), 'run')} of {counted(len(shards), 'study', 'studies')} "
        f"with {counted(rows, 'measurement')}; the first are shown, and nothing was stored"
    )


def _guess(folders: list[Path]) -> None:
    from dbtool.sources.own_runs.guess import guess

    if len(folders) != 1 or not folders[0].is_dir():
        raise UsageError("--guess takes one folder: that with the files of your runs")
    if is_release(folders[0]):
        raise UsageError(
            f"{folders[0]} is a release folder: add it with `dbtool ingest {folders[0]}`"
        )
    found = guess(folders[0])
    typer.echo(found.mapping, nl=False)
    tell(
        f"guessed from {counted(found.files, 'file')}: save it as mapping.toml, fill in what is "
        f"marked ?, and try `dbtool ingest {folders[0]} --from {found.kind} --map mapping.toml "
        "--dry-run`"
    )
