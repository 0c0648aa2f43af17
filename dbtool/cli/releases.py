"""The commands that check and share releases: verified, compared, published, exported, cited."""

import functools
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from dbtool.cli import options
from dbtool.cli.database import reading
from dbtool.cli.messages import bar, tell
from dbtool.cli.table import View
from dbtool.core.errors import DbtoolError, UsageError, counted
from dbtool.core.files import expanded
from dbtool.core.manifest import About, check_name
from dbtool.release.file_format import FileFormat
from dbtool.store.questions import FIRST_TRIALS

_DIFF_COLUMNS = ("workload", "batch_size", "trial_id", "kind", "what", "a", "b")
DIFFERENT = 1
TROUBLE = 2


def verify(path: list[Path]) -> None:
    """Check every byte of releases.

    Finds any flipped byte, any truncated, missing or extra file, rows that contradict what their
    shard says of itself, and an index that contradicts the shards; and tells what repairs it.

    Example: dbtool verify data

    Args:
        path (FOLDER): Release folders, or folders of them.
    """
    import dbtool

    problems = 0
    for each in path:
        with bar("checking", "bytes") as on_progress:
            outcome = dbtool.verify(each, on_progress)
        for problem in outcome.problems:
            tell(str(problem))
        for note in outcome.notes:
            tell(note)
        problems += len(outcome.problems)
        tell(
            f"{each}: {counted(outcome.releases, 'release')} and "
            f"{counted(outcome.shards, 'shard')} sound, "
            f"{counted(outcome.measurements, 'measurement')}"
        )
    if problems:
        raise DbtoolError(f"{counted(problems, 'problem')} found (listed above)")


def index(folder: Path, *, release: str | None = None) -> None:
    """Rebuild the index and the manifest of a release from its shards.

    Commands that add shards do so themselves; this is for shards that were copied or removed by
    hand, and for an index that is damaged.

    Example: dbtool index runs

    Args:
        folder (FOLDER): The release folder.
        release (NAME): The release's name, where its manifest is gone or damaged.
    """
    from dbtool.core.release import rebuild, telling_of_change
    from dbtool.sources.recorder import recover

    folder = expanded(folder)
    if release is not None:
        check_name(release)
    with telling_of_change(folder, tell):
        try:
            recover(folder)
        finally:
            # A trial that cannot be stored is reported at the end.
            manifest = rebuild(folder, None if release is None else About(release=release))
    rows = sum(file.rows or 0 for file in manifest.shards)
    tell(
        f"{manifest.release}: {counted(len(manifest.shards), 'shard')} with "
        f"{counted(rows, 'measurement')}"
    )


def diff(
    a: str,
    b: str,
    *,
    release: str | None = None,
    release_b: str | None = None,
    goal: float | None = None,
    metric: str | None = None,
    trials: int = FIRST_TRIALS,
    fetch_up_to: options.FetchUpTo = options.FETCH_UP_TO,
    columns: str | None = None,
    wide: options.Wide = False,
    output_format: options.OutputFormat = options.Format.TABLE,
    limit: options.Limit = None,
) -> None:
    """Print how two releases differ, a row a difference.

    Compared are the workloads, studies and trials that each has, what it tells of them, their
    measurements, and the steps to result. Exits like `diff`: with 0 where the releases are equal,
    1 where they differ, and 2 where they could not be compared.

    Example: dbtool diff old-release new-release

    Args:
        a (A): A release folder, a folder of them, or the URL of one.
        b (B): Another one.
        release (NAME): The release to compare, where A or B holds several.
        release_b (NAME): The release of B, where it has another name than the one of A.
    """
    import dbtool
    from dbtool.cli.output import print_table, require_printable

    require_printable(output_format)
    try:
        with (
            reading(a, release, fetch_up_to=fetch_up_to, option="A") as first,
            reading(b, release_b or release, fetch_up_to=fetch_up_to, option="B") as second,
        ):
            found = dbtool.diff(first, second, metric=metric, goal=goal, trials=trials)
    except DbtoolError as error:
        error.exit_code = TROUBLE
        raise
    if len(found) or output_format is not options.Format.TABLE:
        view = View(_DIFF_COLUMNS, columns, wide)
        print_table(found.arrow(), output_format, limit, view=view)
    sys.stdout.flush()
    tell(counted(len(found), "difference") if len(found) else "no differences")
    if len(found):
        raise typer.Exit(DIFFERENT)


def forget(name: Annotated[str, typer.Argument(autocompletion=options.held_releases)]) -> None:
    """Remove a release from your own releases.

    Its folder, with all that is in it, is removed from where `dbtool ingest` adds releases by
    default. Releases elsewhere, and the one that ships with dbtool, stay.

    Example: dbtool forget my-runs

    Args:
        name (NAME): The exact name of the release; see `dbtool releases`.
    """
    import dbtool

    gone = dbtool.forget(name)
    tell(f"removed {gone.folder}: {counted(gone.measurements, 'measurement')}")


def publish(
    folder: Path,
    *,
    out: Path | None = None,
    release: str | None = None,
    title: str | None = None,
    licence: str | None = None,
    citation: Path | None = None,
    loss_bits: Annotated[int, typer.Option(min=1, max=23)] = 23,
    every_loss_up_to: Annotated[int, typer.Option(min=0)] = 0,
    then_one_in: Annotated[int, typer.Option(min=1)] = 1,
    evaluations_only: Annotated[bool, typer.Option("--evaluations-only")] = False,
    explorer: Annotated[bool, typer.Option("--explorer")] = False,
    catalog: Literal["iceberg"] | None = None,
    base_url: str | None = None,
) -> None:
    """Make a release a folder for any static host or object store.

    Beside its shards and their hashes the folder has a dataset card, a citation, Croissant
    metadata, and a script that gives plain DuckDB the views. Name, title, licence and citation stay
    as the release has them unless they are given here. A copy can leave out some losses of training
    batches, and round them, to be smaller; evaluations are always whole. The same release gives the
    same bytes, except that tables of a catalog hold addresses.

    Example: dbtool publish runs --out my-release --licence CC-BY-4.0

    Args:
        folder (FOLDER): The release folder, which `dbtool produce`, `import` or `ingest` made, or
            the name of one of your own releases.
        out (DIR): Copy the release into this new folder, and leave FOLDER as it is; without it
            FOLDER itself is published.
        release (NAME): Another name for the release.
        title (TEXT): One line on what the release is.
        licence (SPDX): Licence of the measurements, such as CC-BY-4.0; needed unless the release
            has one.
        citation (FILE): BibTeX by which to cite the release, which `dbtool cite` prints.
        loss_bits (N): Round losses of training batches to N bits of mantissa (23: as measured).
        every_loss_up_to (STEP): Keep the loss of every step up to this one.
        then_one_in (N): After that, keep the losses of one step in N.
        evaluations_only: After that, keep losses only where there is an evaluation.
        explorer: Write a page beside it that draws the release where a web server has both; see
            `dbtool explore`.
        catalog (iceberg): Write tables over the same files for engines that know tables, not
            folders.
        base_url (URL): With --catalog: the address that the folder will have, such as
            s3://bucket/my-release; without it that on this machine.
    """
    if evaluations_only and then_one_in != 1:
        raise UsageError("--evaluations-only and --then-one-in contradict each other; give one")
    if base_url is not None and catalog is None:
        raise UsageError(
            "--base-url is the address that tables of a catalog hold: give --catalog iceberg, too"
        )
    import dbtool
    from dbtool.database import explore_beside
    from dbtool.explorer.page import require_built
    from dbtool.release.citation import read_bibtex
    from dbtool.release.layout import address_of_folder, check_base_url
    from dbtool.release.reduction import Reduction
    from dbtool.store.locations import release_folder

    folder = release_folder(folder)
    if explorer:
        require_built()
    address = None
    if catalog is not None:
        address = check_base_url(base_url) if base_url else address_of_folder(out or folder)
    reduction = Reduction(
        every_loss_up_to=every_loss_up_to,
        then_one_in=None if evaluations_only else then_one_in,
        loss_bits=loss_bits,
    )
    with (
        bar("publishing shards", "bytes") as on_progress,
        bar("making the page", "workloads") as on_page,
    ):
        write_page = functools.partial(
            explore_beside,
            trainable=options.trainable_workloads(),
            on_progress=on_page,
            on_message=tell,
        )
        manifest = dbtool.publish(
            folder,
            out,
            release=release,
            title=title,
            licence=licence,
            citation=read_bibtex(citation) if citation else None,
            reduction=reduction,
            explorer=write_page if explorer else None,
            iceberg=address,
            on_progress=on_progress,
            on_message=tell,
        )
    size = sum(file.bytes for file in manifest.files)
    rows = sum(file.rows or 0 for file in manifest.shards)
    tell(
        f"published {manifest.release} in {out or folder}: "
        f"{counted(len(manifest.shards), 'shard')}, {counted(rows, 'measurement')}, "
        f"{size / 1e6:.1f} MB, licence {manifest.licence}"
    )


def export(
    workload: options.AnyWorkloads = None,
    *,
    out: Annotated[Path, typer.Option()],
    file_format: Annotated[
        FileFormat | None,
        typer.Option("--format", case_sensitive=False, metavar="|".join(FileFormat)),
    ] = None,
    batch_size: list[int] | None = None,
    db: str | None = None,
    fetch_up_to: options.FetchUpTo = options.FETCH_UP_TO,
    release: options.Release = None,
) -> None:
    """Write measurements into a file of another format.

    Rows are sorted by release, workload, batch size, trial and step. The file appears once it is
    whole. The original layout has no room for seeds, sparsities, goals and searches, and for
    what produced the trials.

    Example: dbtool export 'mnist/fc_*' --out mnist.parquet

    Args:
        out (PATH): The new file; for --format original a new folder, or a .tar, .tar.gz or
            .tar.bz2.
        file_format: What to write; without it what the name of --out ends with. A duckdb file holds
            all views and macros, for DuckDB 1.5 and later; original is the layout of the archive of
            2018, which `dbtool import --release NAME` reads; the others hold the columns of the
            view measurements.
    """
    with (
        reading(db, release, fetch_up_to=fetch_up_to) as database,
        bar("exporting", "measurements") as on_progress,
    ):
        studies = database.export(
            out,
            workload or None,
            file_format=file_format,
            batch_size=batch_size or None,
            on_progress=on_progress,
        )
    trials = [trial for study in studies for trial in study.trials]
    measurements = sum(trial.measurements for trial in trials)
    tell(
        f"wrote {out}: {counted(len(studies), 'study', 'studies')}, "
        f"{counted(len(trials), 'trial')}, {counted(measurements, 'measurement')}"
    )


def cite(db: str | None = None, release: options.Release = None) -> None:
    """Print BibTeX entries for the releases.

    First the paper that measured the archive of 2018, then the one that did so for sparse networks,
    then this program, and last what the releases themselves give or, where one gives nothing, an
    entry of its name, title, licence and year.

    Example: dbtool cite >> references.bib
    """
    with reading(db, release) as database:
        typer.echo(database.cite())
