"""The commands that add data: from the published archive, other tools and servers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dbtool.cli.messages import bar, download_bar, tell
from dbtool.cli.options import Destination, Format, Retries, Timeout
from dbtool.core.contract import ARCHIVE_ROOT
from dbtool.core.errors import UsageError, counted, unknown
from dbtool.sources.logs import LOG_FORMATS
from dbtool.store.table_files import TABLE_FORMATS

if TYPE_CHECKING:
    from dbtool.sources.base import Source

# The last is an entry point of dbtool's own; asking for these takes too long for a help text.
_SOURCES = ", ".join((*TABLE_FORMATS, *LOG_FORMATS, "mllog"))


def _source_names() -> list[str]:
    from dbtool.sources.ingest import source_names

    return source_names()


def fetch(
    source: Annotated[str, typer.Argument()] = ARCHIVE_ROOT,
    *,
    list_: Annotated[bool, typer.Option("--list")] = False,
    url: str | None = None,
    mirror: list[str] | None = None,
    out: str = ".",
    sha256: str | None = None,
    retries: Retries = 5,
    timeout: Timeout = 30.0,
) -> None:
    """Download the published archive or another public source, and check it.

    What has come is kept in a .part file, so a fetch that was interrupted goes on when the same
    command is given again. A file gets its name once its sha256 is the published one or, of a
    repository, once git's id of all its files is. The paths are printed.

    Example: dbtool fetch mlperf-reference --out downloads/

    Args:
        source (NAME): batch_science, the archive of 2018; or another name of --list.
        list_: List the public sources in place of fetching one.
        url (URL): Fetch from here in place of the published address: http://, https:// or file://.
        mirror (URL|DIR): Try this address when those before it fail; may be given more than once.
            Of a repository a host that serves it in place of its own, or a folder of its archives.
        out (PATH): The file to write, or the folder it goes into.
        sha256 (HEX): The hash of another file than the published one, such as a replica.
    """
    if list_:
        from dbtool.cli.output import print_table
        from dbtool.sources.public.catalog import source_table

        print_table(source_table(), Format.TABLE)
        return
    import dbtool
    from dbtool.core.download import RetryPolicy
    from dbtool.sources.archive.published import LICENCE, SHA256

    if source != ARCHIVE_ROOT and (url or sha256):
        raise UsageError(f"--url and --sha256 have no effect with {source}: give a --mirror")
    with download_bar() as (on_progress, on_retry):
        policy = RetryPolicy(most=retries, timeout=timeout, on_retry=on_retry)
        given: dict[str, Any] = {"mirrors": mirror or (), "retries": policy}
        given["on_progress"] = on_progress
        if source == ARCHIVE_ROOT:
            fetched = dbtool.fetch(out, url=url, sha256=sha256, **given)
            paths = [fetched.path]
        else:
            paths = dbtool.fetch_source(source, out, **given)
    if source == ARCHIVE_ROOT:
        size = f"{fetched.path.stat().st_size / 1e6:,.1f} MB"
        done = "was there already" if fetched.was_there else "fetched"
        tell(f"{done}: {size}, sha256 {fetched.sha256}")
        if fetched.sha256 == SHA256 and not fetched.was_there:
            tell(f"{LICENCE} `dbtool cite` tells how to cite it.")
    for path in paths:
        typer.echo(path)


def import_(
    source: str,
    path: Annotated[list[Path] | None, typer.Argument()] = None,
    *,
    db: Destination = None,
    release: str = "published",
) -> None:
    """Import an archive in the published format, or another public source, into a release of yours.

    The archive is read once and never unpacked to disk. Trials that are already there change
    nothing, so an interrupted import goes on when the same command is given again. A malformed
    trial is named and left out; the rest goes in. Studies that are stored can be asked meanwhile.

    Example: dbtool import batch_science_data.tar.bz2

    Args:
        source (PATH|NAME): The archive: a .tar.bz2, .tar.gz or .tar, or the folder it was unpacked
            into; or a name of `dbtool fetch --list`.
        path (PATH): Archives or folders of a source that was named; without any, the archives that
            `dbtool fetch` put here.
        release (NAME): The name under which the rows of the archive are stored; only those of
            `published` are compared with the published table.
    """
    import dbtool
    from dbtool.sources.public.catalog import public_source_names

    told: dict[str, Any] = {"on_message": tell}
    if source in public_source_names():
        with bar("importing", "bytes") as on_progress:
            dbtool.import_source(source, *path or (), into=db, on_progress=on_progress, **told)
        return
    if path:
        raise unknown("source", source, public_source_names(), "dbtool fetch --list")
    with bar("importing", "files" if Path(source).is_dir() else "bytes") as on_progress:
        dbtool.import_archive(source, db, release=release, on_progress=on_progress, **told)


def ingest(
    path: list[Path],
    *,
    db: Destination = None,
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="NAME",
            autocompletion=_source_names,
            help="Take learning curves of another tool from its logs, which are recognized without "
            f"it, or from tables: {_SOURCES}, or a name from an installed package.",
        ),
    ] = None,
    map_: Annotated[Path | None, typer.Option("--map")] = None,
    workload: str | None = None,
    batch_size: int | None = None,
    release: str | None = None,
    guess: Annotated[bool, typer.Option("--guess")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run")] = False,
) -> None:
    """Add release folders, or runs of other tools, to your releases.

    What is already there changes nothing, so an interrupted load goes on when the same command is
    given again. A release that is damaged, or that disagrees with what is there, is refused and
    named; the others go in. Runs of other tools become a release of their own; where files are not
    what their mapping says, nothing is stored. --guess writes a first mapping.

    Example: dbtool ingest logs --workload cifar_10/resnet_8/adam --batch-size 64

    Args:
        path (PATH): Release folders, or folders of them; the logs of another tool, or folders of
            them; with --from, patterns such as 'runs/**/metrics.csv' too.
        map_ (FILE): A TOML file that says what the columns are, or what logs do not state; see
            docs/your_own_runs.md.
        workload (NAME): What the runs trained, as DATASET/MODEL/OPTIMIZER.
        batch_size (N): The global batch size of the runs.
        release (NAME): The release that they are added to; without it a release folder's own name,
            the mapping's, or that of the folder of logs. With another name, a release goes beside
            the one that it disagrees with.
        guess: Print a first mapping for the runs in a folder, with ? where you have to say more,
            and store nothing.
        dry_run: Show how many runs there are and the first rows as they would be stored, and store
            nothing.
    """
    import dbtool

    if guess:
        if from_ or map_ or workload or batch_size or release or dry_run:
            raise UsageError("--guess takes a folder and no other option")
        _guess(path)
        return
    from dbtool.sources.ingest import open_source, tool_of

    from_ = from_ or tool_of(path)
    with bar("reading files", "files") if from_ else bar("adding shards") as on_progress:
        given: dict[str, Any] = {"workload": workload, "batch_size": batch_size}
        given |= {"release": release, "on_progress": on_progress, "on_message": tell}
        if not dry_run:
            dbtool.ingest(path, db, source=from_, mapping=map_, **given)
            return
        source = open_source(path, from_, map_, **given)
    _show(source)


def _show(source: "Source") -> None:
    """Print what would be stored: the number of runs, and the first trials and measurements."""
    from dbtool.cli.output import print_table
    from dbtool.cli.table import View
    from dbtool.sources.ingest import preview

    trials, measurements, sentence = preview(source)
    if measurements is not None:
        print_table(trials, Format.TABLE, view=View(wide=True))
        typer.echo()
        print_table(measurements, Format.TABLE, view=View(wide=True))
    tell(sentence)


def _guess(folders: list[Path]) -> None:
    from dbtool.sources.ingest import tool_of
    from dbtool.sources.logs.source import guess_logs
    from dbtool.sources.tables.guess import guess

    tool = tool_of(folders)
    found = guess_logs(folders, tool) if tool else guess(*folders)
    typer.echo(found.mapping, nl=False)
    tell(
        f"guessed from {counted(found.files, 'file')}: save it as mapping.toml, fill in what is "
        f"marked ?, and try `dbtool ingest {folders[0]} --from {found.kind} --map mapping.toml "
        "--dry-run`"
    )


def pull(
    url: str, *, out: Path | None = None, retries: Retries = 5, timeout: Timeout = 30.0
) -> None:
    """Download a whole published release from a server, and check it.

    What has come is kept, so a download that was interrupted goes on when the same command is given
    again, and of a release that was published anew only the files that changed are fetched. Every
    file is checked against its sha256. The folder is printed.

    Example: dbtool pull https://example.org/my-release --out my-release

    Args:
        url (URL): The release's folder on a server, http:// or https://.
        out (DIR): The folder to write; without it one here that is named like the release.
    """
    import dbtool
    from dbtool.core.download import RetryPolicy

    with download_bar() as (on_progress, on_retry):
        policy = RetryPolicy(most=retries, timeout=timeout, on_retry=on_retry)
        pulled = dbtool.pull(url, out, policy, on_progress)
    came = f"{counted(pulled.files, 'file')} with {pulled.bytes / 1e6:,.1f} MB"
    done = f"fetched {came}" if pulled.files else "everything was there already"
    if pulled.removed:
        done += f", and removed {counted(pulled.removed, 'shard')} that it does not hold any more"
    tell(
        f"{pulled.manifest.release}: {done}; read it with `--db {pulled.folder}`, or add it to "
        f"your own with `dbtool ingest {pulled.folder}`"
    )
    typer.echo(pulled.folder)
