"""The command that writes a release folder."""

import sys
from pathlib import Path
from typing import Annotated

import typer


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
    title: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="One line on what it is; without it what the shards say.",
            show_default=False,
        ),
    ] = None,
    licence: Annotated[
        str | None,
        typer.Option(
            metavar="SPDX",
            help="Licence of the measurements; without it the one that the shards name, or "
            "CC-BY-4.0.",
            show_default=False,
        ),
    ] = None,
    citation: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="BibTeX that `dbtool cite` shall print; without it what the shards say.",
            show_default=False,
        ),
    ] = None,
    loss_bits: Annotated[
        int, typer.Option(min=1, max=23, metavar="N", help="Mantissa bits of batch losses to keep.")
    ] = 23,
    every_loss_up_to: Annotated[
        int, typer.Option(min=0, metavar="STEP", help="Keep all batch losses up to this step.")
    ] = 0,
    then_one_in: Annotated[
        int, typer.Option(min=1, metavar="N", help="Of later batch losses, keep one in N.")
    ] = 1,
    evaluations_only: Annotated[
        bool,
        typer.Option("--evaluations-only", help="Keep no later losses between evaluations."),
    ] = False,
) -> None:
    """Write shards as a release folder, one a study, with a manifest.

    Evaluations are kept whole; batch losses can be thinned and rounded, which the manifest records.

    Example: dbtool merge runs --out my-release --release mine --loss-bits 8
    """
    from dbtool.cli.messages import counted
    from dbtool.release.copies import refuse_copies
    from dbtool.release.merge import merge_shards
    from dbtool.release.reduction import Reduction
    from dbtool.store.ingest import find_shards

    refuse_copies(path)
    manifest = merge_shards(
        find_shards(path),
        out,
        release=release,
        title=title,
        licence=licence,
        citation=_bibtex(citation) if citation else None,
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


def _bibtex(path: Path) -> str:
    """The BibTeX entries of a file.

    Raises:
        UsageError: when it holds none.
    """
    import re

    from dbtool.errors import UsageError

    text = path.read_text(encoding="utf-8", errors="replace").strip()
    if not re.search(r"@\w+\s*\{", text):
        raise UsageError(
            f"{path} holds no BibTeX entry, such as @misc{{my-release, title = {{…}}}}"
        )
    return text
