"""The command that rebuilds the index of a release."""

from pathlib import Path
from typing import Annotated

import typer

from dbtool.cli.messages import tell, telling_unpublished
from dbtool.core.errors import counted
from dbtool.core.manifest import About, check_name


def command(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The release folder.")],
    *,
    release: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The release's name, where its manifest is gone or damaged.",
        ),
    ] = None,
) -> None:
    """Rebuild the index and the manifest of a release from its shards.

    Commands that add shards do so themselves; this is for shards that were copied or removed by
    hand, and for an index that is damaged.

    Example: dbtool index runs
    """
    from dbtool.core.release import rebuild

    if release is not None:
        check_name(release)
    with telling_unpublished(folder):
        manifest = rebuild(folder, None if release is None else About(release=release))
    rows = sum(file.rows or 0 for file in manifest.shards)
    tell(
        f"{manifest.release}: {counted(len(manifest.shards), 'shard')} with "
        f"{counted(rows, 'measurement')}"
    )
