"""The command that publishes a release as a folder for any static host."""

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dbtool.cli.options import Database
from dbtool.cli.release_options import (
    Citation,
    EvaluationsOnly,
    EveryLossUpTo,
    Licence,
    LossBits,
    ThenOneIn,
    Title,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb


def command(
    path: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[SHARDS...]",
            help="Shards, or folders of them, to publish in place of a database.",
            show_default=False,
        ),
    ] = None,
    *,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="The folder, which must not be there yet.")
    ],
    release: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The release to publish; may be left out where there is one alone. Of shards: "
            "the name that their release shall have.",
            show_default=False,
        ),
    ] = None,
    db: Database = None,
    title: Title = None,
    licence: Licence = None,
    citation: Citation = None,
    loss_bits: LossBits = 23,
    every_loss_up_to: EveryLossUpTo = 0,
    then_one_in: ThenOneIn = 1,
    evaluations_only: EvaluationsOnly = False,
) -> None:
    """Publish a release as a folder for any static host or object store.

    Parquet files with a manifest, checksums, a dataset card, a citation and Croissant metadata. The
    same release gives the same bytes. Evaluations are kept whole; the batch losses of shards can be
    thinned and rounded, which the manifest records.

    Example: dbtool publish --out my-release --release measured
    """
    from dbtool.cli.loading import loading_bar
    from dbtool.cli.messages import counted
    from dbtool.release.publish import Said, publish_release
    from dbtool.release.publish.bibtex import read_bibtex
    from dbtool.release.reduction import Reduction

    said = Said(title, licence, read_bibtex(citation) if citation else None)
    reduction = Reduction(
        every_loss_up_to=every_loss_up_to,
        then_one_in=None if evaluations_only else then_one_in,
        loss_bits=loss_bits,
    )
    opened = _loaded(path, out, release, db) if path else _database(release, db)
    with opened as (connection, name), loading_bar("publishing studies") as on_progress:
        manifest = publish_release(
            connection,
            out,
            release=name,
            said=said,
            reduction=reduction,
            on_progress=on_progress,
        )
    size = sum(file.bytes for file in manifest.files)
    sys.stderr.write(
        f"published {manifest.release} in {out}: "
        f"{counted(manifest.rows('studies'), 'study', 'studies')}, "
        f"{counted(manifest.rows('measurements'), 'measurement')}, {size / 1e6:.1f} MB, "
        f"licence {manifest.licence}\n"
    )


@contextlib.contextmanager
def _database(
    release: str | None, db: Path | None
) -> "Iterator[tuple[duckdb.DuckDBPyConnection, str]]":
    """A database to publish from, and the name of the release."""
    from dbtool.cli.database import reading
    from dbtool.store.names import only_release

    with reading(db) as connection:
        yield connection, only_release(connection, release)


@contextlib.contextmanager
def _loaded(
    paths: list[Path], out: Path, release: str | None, db: Path | None
) -> "Iterator[tuple[duckdb.DuckDBPyConnection, str]]":
    """A temporary database of what was named, and the name of its release.

    Raises:
        UsageError: a database was named too, or the shards are of several releases.
    """
    from dbtool.cli.database import answering
    from dbtool.cli.loading import loading_bar
    from dbtool.errors import UsageError
    from dbtool.release.copies import refuse_copies
    from dbtool.release.publish.shards import loaded

    if db is not None:
        raise UsageError("give shards or --db, not both: `dbtool ingest --db FILE` puts them there")
    if release is not None and not (release.strip() and release.isprintable()):
        raise UsageError(f"--release {release!r} is no name: give one such as mine")
    refuse_copies(paths)
    with contextlib.ExitStack() as stack:
        with loading_bar("loading shards") as on_progress:
            connection, name = stack.enter_context(loaded(paths, out, release, on_progress))
        stack.enter_context(answering(connection))
        yield connection, name
