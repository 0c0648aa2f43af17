"""The command that imports an archive in the published format."""

from pathlib import Path
from typing import Annotated

import typer

from dbtool.cli.bars import bar
from dbtool.cli.messages import tell
from dbtool.cli.options import Destination


def command(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH",
            help="The archive: a .tar.bz2, .tar.gz or .tar, or the folder it was unpacked into.",
        ),
    ],
    *,
    db: Destination = None,
    release: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="The name under which the rows are stored; only those of `published` are "
            "compared with the published table.",
        ),
    ] = "published",
) -> None:
    """Import an archive in the published format into a release of yours.

    The archive is read once and never unpacked to disk. Trials that are already there change
    nothing, so an interrupted import goes on when the same command is given again. A malformed
    trial is named and left out; the rest goes in. Studies that are stored can be asked meanwhile.

    Example: dbtool import batch_science_data.tar.bz2
    """
    import dbtool

    with bar("importing", "files" if path.is_dir() else "bytes") as on_progress:
        dbtool.import_archive(path, db, release=release, on_progress=on_progress, on_message=tell)
