"""The command that writes a release folder."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from dbtool.cli.release_options import (
    Citation,
    EvaluationsOnly,
    EveryLossUpTo,
    Licence,
    LossBits,
    ThenOneIn,
    Title,
)


def command(
    path: Annotated[
        list[Path],
        typer.Argument(
            metavar="SHARDS...",
            help="Shards, or folders that are searched for trials-*.parquet.",
            show_default=False,
        ),
    ],
    *,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="The release folder, which must not be there yet.")
    ],
    release: Annotated[str, typer.Option(metavar="NAME", help="The release's name.")],
    title: Title = None,
    licence: Licence = None,
    citation: Citation = None,
    loss_bits: LossBits = 23,
    every_loss_up_to: EveryLossUpTo = 0,
    then_one_in: ThenOneIn = 1,
    evaluations_only: EvaluationsOnly = False,
) -> None:
    """Write shards as a release folder, one a study, with a manifest.

    Evaluations are kept whole; batch losses can be thinned and rounded, which the manifest records.

    Example: dbtool merge runs --out my-release --release mine --loss-bits 8
    """
    from dbtool.cli.messages import counted
    from dbtool.release.copies import refuse_copies
    from dbtool.release.merge import merge_shards
    from dbtool.release.publish.bibtex import read_bibtex
    from dbtool.release.reduction import Reduction
    from dbtool.store.ingest import find_shards

    refuse_copies(path)
    manifest = merge_shards(
        find_shards(path),
        out,
        release=release,
        title=title,
        licence=licence,
        citation=read_bibtex(citation) if citation else None,
        reduction=Reduction(
            every_loss_up_to=every_loss_up_to,
            then_one_in=None if evaluations_only else then_one_in,
            loss_bits=loss_bits,
        ),
    )
    size = sum(file.bytes for file in manifest.files)
    rows = sum(file.measurements for file in manifest.files)
    sys.stderr.write(
        f"wrote {out}: {counted(len(manifest.files), 'study', 'studies')}, "
        f"{counted(rows, 'measurement')}, {size / 1e6:.1f} MB\n"
    )
