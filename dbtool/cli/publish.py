"""The command that publishes a release as a folder for any static host."""

import functools
from pathlib import Path
from typing import Annotated, Literal

import typer

from dbtool.cli.bars import bar
from dbtool.cli.messages import tell
from dbtool.core.errors import UsageError, counted


def command(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER",
            help="The release folder: what `dbtool produce`, `import` or `ingest` made.",
        ),
    ],
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Copy the release into this new folder, and leave FOLDER as it is; without it "
            "FOLDER itself is published.",
        ),
    ] = None,
    release: Annotated[
        str | None, typer.Option(metavar="NAME", help="Another name for the release.")
    ] = None,
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="One line on what the release is.")
    ] = None,
    licence: Annotated[
        str | None,
        typer.Option(
            metavar="SPDX",
            help="Licence of the measurements, such as CC-BY-4.0; needed unless the release has "
            "one.",
        ),
    ] = None,
    citation: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="BibTeX by which to cite the release, which `dbtool cite` prints.",
        ),
    ] = None,
    loss_bits: Annotated[
        int,
        typer.Option(
            min=1,
            max=23,
            metavar="N",
            help="Round losses of training batches to N bits of mantissa (23: as measured).",
        ),
    ] = 23,
    every_loss_up_to: Annotated[
        int,
        typer.Option(min=0, metavar="STEP", help="Keep the loss of every step up to this one."),
    ] = 0,
    then_one_in: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="After that, keep the losses of one step in N."),
    ] = 1,
    evaluations_only: Annotated[
        bool,
        typer.Option(
            "--evaluations-only", help="After that, keep losses only where there is an evaluation."
        ),
    ] = False,
    explorer: Annotated[
        bool,
        typer.Option(
            "--explorer",
            help="Write a page beside it that draws the release where a web server has both; see "
            "`dbtool explore`.",
        ),
    ] = False,
    catalog: Annotated[
        Literal["iceberg"] | None,
        typer.Option(
            metavar="iceberg",
            help="Write tables over the same files for engines that know tables, not folders.",
        ),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="With --catalog: the address that the folder will have, such as "
            "s3://bucket/my-release; without it that on this machine.",
        ),
    ] = None,
) -> None:
    """Make a release a folder for any static host or object store.

    Beside its shards and their hashes the folder has a dataset card, a citation, Croissant
    metadata, and a script that gives plain DuckDB the views. Name, title, licence and citation stay
    as the release has them unless they are given here. A copy can leave out some losses of training
    batches, and round them, to be smaller; evaluations are always whole. The same release gives the
    same bytes, except that tables of a catalog hold addresses.

    Example: dbtool publish runs --out my-release --licence CC-BY-4.0
    """
    if evaluations_only and then_one_in != 1:
        raise UsageError("--evaluations-only and --then-one-in contradict each other; give one")
    if base_url is not None and catalog is None:
        raise UsageError(
            "--base-url is the address that tables of a catalog hold: give --catalog iceberg, too"
        )
    from dbtool.cli.completion import trainable_workloads
    from dbtool.database import explore_beside
    from dbtool.explorer.page import require_built
    from dbtool.release.publish import publish
    from dbtool.release.publish.address import address_of_folder, check_base_url
    from dbtool.release.publish.citation import read_bibtex
    from dbtool.release.reduction import Reduction

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
        page = functools.partial(
            explore_beside,
            trainable=trainable_workloads(),
            on_progress=on_page,
            on_message=tell,
        )
        manifest = publish(
            folder,
            out,
            release=release,
            title=title,
            licence=licence,
            citation=read_bibtex(citation) if citation else None,
            reduction=reduction,
            explorer=page if explorer else None,
            iceberg=address,
            on_progress=on_progress,
        )
    size = sum(file.bytes for file in manifest.files)
    rows = sum(file.rows or 0 for file in manifest.shards)
    tell(
        f"published {manifest.release} in {out or folder}: "
        f"{counted(len(manifest.shards), 'shard')}, {counted(rows, 'measurement')}, "
        f"{size / 1e6:.1f} MB, licence {manifest.licence}"
    )
